import { defaultCache } from '../dev/paths.ts';
import { resolveTools } from '../dev/tools/resolve.ts';

/** The first run builds Temporal, etcd and kube-apiserver; that takes minutes, and belongs to no test's time. */
export default async function toolsFirst(): Promise<void> {
  await resolveTools({ cache: defaultCache(), onProgress: (line) => process.stdout.write(`${line}\n`) });
}
