import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { workflowsPath } from '../workers/workflows-path.ts';

/** Bundles the workflows once for all workers: each would spend two seconds on it, and some tests start many. */
export default async function bundleFirst(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'drover-bundle-'));
  const file = join(folder, 'workflows.js');
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  writeFileSync(file, code);
  process.env['DROVER_WORKFLOW_BUNDLE'] = file;
  return () => rmSync(folder, { recursive: true, force: true });
}
