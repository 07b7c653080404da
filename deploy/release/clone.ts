import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './run.ts';

/** Does something in a clone of what is checked out, with the packages of the project, and removes the clone. */
export function inClone(project: string, then: (source: string) => void): void {
  const source = mkdtempSync(join(tmpdir(), 'drover-release-'));
  try {
    run(project, 'git', 'clone', '--quiet', '--no-hardlinks', '.', source);
    symlinkSync(join(project, 'node_modules'), join(source, 'node_modules'));
    then(source);
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}
