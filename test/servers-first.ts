import { defaultCache } from '../dev/paths.ts';
import { resolveTools } from '../dev/tools/resolve.ts';
import { resolveTestServer } from '../dev/tools/test-server.ts';
import bundleFirst from './bundle.ts';

/**
 * What many tests need, and is made once. The first run builds Temporal, etcd and kube-apiserver; that takes minutes,
 * and belongs to no test's time.
 */
export default async function serversFirst(): Promise<() => void> {
  const options = { cache: defaultCache(), onProgress: (line: string) => void process.stdout.write(`${line}\n`) };
  await resolveTools(options);
  // Without Java the tests that skip time fail, and no others.
  await resolveTestServer(options).catch((error: Error) => options.onProgress(error.message));
  return bundleFirst();
}
