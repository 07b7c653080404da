import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { defaultCache } from '../dev/paths.ts';
import { resolveTools } from '../dev/tools/resolve.ts';
import { resolveTestServer } from '../dev/tools/test-server.ts';
import { workflowsPath } from '../workers/workflows-path.ts';

/**
 * What many tests need, and is made once. The first run builds Temporal, etcd and kube-apiserver; that takes minutes, and belongs to no
 * test's time. Workers take the workflows from one bundle: each would spend two seconds on its own, and some tests start many.
 */
export default async function serversFirst(): Promise<() => void> {
  const options = { cache: defaultCache(), onProgress: (line: string) => void process.stdout.write(`${line}\n`) };
  await resolveTools(options);
  // Without Java the tests that skip time fail, and no others.
  await resolveTestServer(options).catch((error: Error) => options.onProgress(error.message));
  const folder = mkdtempSync(join(tmpdir(), 'drover-bundle-'));
  const file = join(folder, 'workflows.js');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  writeFileSync(file, code);
  process.env['DROVER_WORKFLOW_BUNDLE'] = file;
  return () => rmSync(folder, { recursive: true, force: true });
}
