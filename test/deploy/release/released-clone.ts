import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { release } from '../../../deploy/release/release.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const PROJECT = resolve(import.meta.dirname, '../../..');
export const { version } = packageJson;

/** A clone of this one, which can be released, with a remote of its own. */
export class ReleasedClone {
  readonly folder = mkdtempSync(join(tmpdir(), 'drover-release-test-'));
  readonly path = this.in('clone');
  readonly remote = this.in('remote');

  constructor() {
    // Tags of earlier releases are none of this one's.
    execFileSync('git', ['clone', '--quiet', '--no-hardlinks', '--no-tags', PROJECT, this.path]);
    execFileSync('git', ['clone', '--quiet', '--bare', this.path, this.remote]);
    this.git('remote', 'set-url', 'origin', this.remote);
    this.git('checkout', '--quiet', '-B', 'release');
    // As in a workflow: who commits is known in this clone only.
    for (const [name, value] of Object.entries({ name: 'a test', email: 'test@drover.example' }))
      this.git('config', `user.${name}`, value);
    symlinkSync(join(PROJECT, 'node_modules'), join(this.path, 'node_modules'));
    writeFileSync(join(this.path, '.git/info/exclude'), 'node_modules\n');
    this.#undoRelease();
  }

  /** Has the clone as it was before its version was released, if that is so already. */
  #undoRelease(): void {
    const edit = (file: string, change: (text: string) => string): void =>
      writeFileSync(this.in('clone', file), change(readFileSync(this.in('clone', file), 'utf8')));
    edit('CHANGELOG.md', (text) => text.replace(new RegExp(`^## ${version} - .*\\n\\n`, 'm'), ''));
    edit('test/replay/released.json', (text) => {
      const { [version]: _, ...others } = JSON.parse(text) as Record<string, object>;
      return `${JSON.stringify(others, null, 2)}\n`;
    });
    if (this.git('status', '--porcelain') !== '')
      this.git('commit', '--quiet', '--all', '--message', 'Undo the release');
  }

  in(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.path, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  }

  /** Tags it; returns what was said of it. */
  release(options: { version?: string; isDryRun?: boolean; ci?: string } = {}): string[] {
    const said: string[] = [];
    const usual = { version, project: this.path, isDryRun: false, ci: 'true', day: '2027-01-02' };
    release({ ...usual, ...options, say: (line) => said.push(line) });
    return said;
  }

  /** Changes files in the clone while something is tried, and takes it back. */
  having(change: () => void, then: () => void): void {
    const before = this.git('rev-parse', 'HEAD');
    change();
    try {
      then();
    } finally {
      this.git('reset', '--quiet', '--hard', before);
      this.git('clean', '--quiet', '-d', '--force');
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
