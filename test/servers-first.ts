import type { TestProject } from 'vitest/node';
import { defaultCache } from '../dev/paths.ts';
import { resolveTools } from '../dev/tools/resolve.ts';
import { providePrograms } from './programs.ts';
import { seedOf } from './seeded.ts';
import { StackPool } from './stacks/stack-pool.ts';
import { GO_TOOLS, resolveGoTool } from './tools/go-tools.ts';
import { resolveTestServer } from './tools/test-server.ts';

/**
 * Prepares once what many tests need. The first run builds Temporal, etcd and kube-apiserver, which takes minutes and
 * must not count toward a test's time.
 */
export default async function serversFirst(project: TestProject): Promise<() => Promise<void>> {
  const options = { cache: defaultCache(), onProgress: (line: string) => void process.stdout.write(`${line}\n`) };
  await resolveTools(options);
  // Without Java, only the tests that skip time fail.
  await resolveTestServer(options).catch((error: Error) => options.onProgress(error.message));
  // Without Go, only the tests of the alerts and of the Helm chart fail.
  for (const tool of GO_TOOLS)
    await resolveGoTool(tool, options).catch((error: Error) => options.onProgress(error.message));
  // On a machine with few cores, servers of many stacks waste a fifteenth of their CPU on threads that look for work.
  process.env['GOMAXPROCS'] ??= '1';
  const { programs, remove } = await providePrograms(project);
  const stacks = new StackPool(programs);
  await stacks.listen();
  project.provide('stacks', stacks.socket);
  project.provide('turn', seedOf());
  return async () => {
    await stacks.close();
    remove();
  };
}
