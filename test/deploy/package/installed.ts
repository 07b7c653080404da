import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildPackage } from '../../../deploy/package/build.ts';
import type { TestFleet } from '../../integration/fleet.ts';

const run = promisify(execFile);

export const npm = (cwd: string, ...args: string[]): Promise<{ stdout: string }> => run('npm', args, { cwd });

/** What a user has who has typed `npm install --global drover-….tgz`, in a folder of its own. */
export class Installed {
  readonly folder = mkdtempSync(join(tmpdir(), 'drover-package-'));
  readonly #prefix = join(this.folder, 'global');
  readonly #fleet: () => TestFleet;
  /** The file that `npm pack` made. */
  packed = '';
  /** Of all files of the package, in bytes. */
  size = 0;

  /** `fleet`: whose cluster and Temporal its programs use. */
  constructor(fleet: () => TestFleet) {
    this.#fleet = fleet;
  }

  async install(): Promise<void> {
    const made = join(this.folder, 'made');
    await buildPackage(made);
    const { stdout } = await npm(this.folder, 'pack', '--json', made);
    const [{ filename, unpackedSize }] = JSON.parse(stdout) as [{ filename: string; unpackedSize: number }];
    this.packed = join(this.folder, filename);
    this.size = unpackedSize;
    // Offline: nothing but the package is needed.
    const options = ['--global', '--prefix', this.#prefix, '--offline', '--no-audit', '--no-fund'];
    await npm(this.folder, 'install', ...options, this.packed);
  }

  /** A path below the folder of all packages. */
  path(...parts: string[]): string {
    return join(this.#prefix, 'lib', 'node_modules', ...parts);
  }

  program(name: string): string {
    return join(this.#prefix, 'bin', name);
  }

  /** The environment of a user who has all programs of the package, and this Node, on the PATH. */
  environment(node = process.execPath): NodeJS.ProcessEnv {
    const { kubeconfig, temporalAddress } = this.#fleet().stack;
    const PATH = [dirname(node), dirname(this.program('drover')), process.env['PATH']].join(delimiter);
    return { HOME: this.folder, KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress, PATH };
  }

  /** Runs a program by a Node, and returns what the program prints and its exit code. */
  async run(program: string, args: string[], node?: string): Promise<{ code: number; output: string }> {
    const ended = run(program, args, { env: this.environment(node), cwd: this.folder });
    return ended.then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        output: stdout + stderr,
      }),
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
