import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPrograms } from '../deploy/build.ts';

/**
 * Bundles the worker, the command and the workflows once for all tests on servers, as the image has them: these tests
 * start hundreds of both, and a bundle starts with a third of the CPU.
 */
export default async function bundleFirst(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-bundle-'));
  await buildPrograms(folder, { worker: 'workers/main.ts', drover: 'clients/drover.ts' });
  process.env['DROVER_WORKFLOW_BUNDLE'] = join(folder, 'workflows.js');
  process.env['DROVER_TEST_WORKER'] = join(folder, 'worker.mjs');
  process.env['DROVER_TEST_COMMAND'] = join(folder, 'drover.mjs');
  return () => rmSync(folder, { recursive: true, force: true });
}
