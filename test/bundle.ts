import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPrograms } from '../deploy/build.ts';

/** Bundles the worker and the workflows once for all tests, as the image has them: some tests start many workers. */
export default async function bundleFirst(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-bundle-'));
  await buildPrograms(folder, { worker: 'workers/main.ts' });
  process.env['DROVER_WORKFLOW_BUNDLE'] = join(folder, 'workflows.js');
  process.env['DROVER_TEST_WORKER'] = join(folder, 'worker.mjs');
  return () => rmSync(folder, { recursive: true, force: true });
}
