import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPackage } from '../../deploy/package/build.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { aFleet, namesUpTo } from '../integration/fleet.ts';
import { isSoak } from '../soak.ts';

const run = promisify(execFile);
const npm = (cwd: string, ...args: string[]): Promise<{ stdout: string }> => run('npm', args, { cwd });
const well = { code: 0, output: expect.any(String) as string };
const fleet = aFleet();
const LARGEST = 35 * 2 ** 20;

/** What a user has who has typed `npm install drover` in an empty folder. */
class Installed {
  readonly folder = mkdtempSync(join(tmpdir(), 'drover-package-'));
  readonly #user = join(this.folder, 'user');
  size = 0;

  async install(): Promise<void> {
    const made = join(this.folder, 'made');
    await buildPackage(made);
    const packed = await npm(this.folder, 'pack', '--json', made);
    const [{ filename, unpackedSize }] = JSON.parse(packed.stdout) as [{ filename: string; unpackedSize: number }];
    this.size = unpackedSize;
    mkdirSync(this.#user);
    writeFileSync(join(this.#user, 'package.json'), '{}');
    // Offline: nothing but the package is needed.
    await npm(this.#user, 'install', '--offline', '--no-audit', '--no-fund', join(this.folder, filename));
  }

  path(...parts: string[]): string {
    return join(this.#user, 'node_modules', ...parts);
  }

  /** Runs one of its programs by a Node, and returns what the program prints and its exit code. */
  async run(program: string, args: string[], node = process.execPath): Promise<{ code: number; output: string }> {
    const { kubeconfig, temporalAddress } = fleet().stack;
    const PATH = [dirname(node), this.path('.bin'), process.env['PATH']].join(delimiter);
    const env = { HOME: this.folder, KUBECONFIG: kubeconfig, TEMPORAL_ADDRESS: temporalAddress, PATH };
    const ended = run(join(this.path('.bin'), program), args, { env, cwd: this.folder });
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

/** Finds a Node of this major version, which npm fetches if it must. */
async function nodeOf(major: number): Promise<string> {
  const args = ['exec', '--yes', `--package=node@${major}`, '-c', 'command -v node'];
  return (await npm(tmpdir(), ...args)).stdout.trim();
}

// A shell script starts each program.
describe.runIf(process.platform !== 'win32')('the npm package', () => {
  let installed: Installed;
  beforeAll(async () => {
    installed = new Installed();
    await installed.install();
    await fleet().worker();
  }, 300_000);
  afterAll(() => installed?.remove());

  test('is small, needs no other package, and names the licences of all that it contains', () => {
    expect(installed.size).toBeLessThan(LARGEST);
    expect(readdirSync(installed.path()).filter((name) => !name.startsWith('.'))).toEqual(['drover']);
    const notices = readFileSync(installed.path('drover', 'NOTICES.md'), 'utf8');
    for (const name of ['@temporalio/client', '@kubernetes/client-node', 'commander', 'undici'])
      expect(notices).toMatch(new RegExp(`^## ${name} \\S+ \\(.+\\)$`, 'm'));
  });

  test.each(isSoak ? [22, 24, 26] : [0])(
    'manages a pool on Node %i (0: the one that runs the tests)',
    async (major) => {
      const node = major === 0 ? process.execPath : await nodeOf(major);
      const namespace = await fleet().namespace();
      const drover = (...args: string[]): ReturnType<Installed['run']> => installed.run('drover', args, node);
      const manifest = join(installed.folder, `${namespace}.yaml`);
      writeFileSync(
        manifest,
        `apiVersion: drover.dev/v1alpha1
kind: VirtualMachinePool
metadata: { name: web, namespace: ${namespace} }
spec:
  replicas: 2
  template: { spec: { runStrategy: Halted, template: { spec: { domain: { devices: {} } } } } }
`,
      );

      expect(await drover('apply', '-f', manifest)).toEqual(well);
      await fleet().settled(namespace, 'web', namesUpTo('web', 2));
      expect(await drover('scale', 'pool', 'web', '--replicas', '3', '-n', namespace)).toEqual(well);
      await fleet().settled(namespace, 'web', namesUpTo('web', 3));
      const history = await drover('history', 'pool', 'web', '-n', namespace);
      expect(history).toEqual({ code: 0, output: expect.stringMatching(/create +web-1, web-2/) as string });
      const alone = await drover('history', 'pool', 'web', '-n', namespace, '--address', '127.0.0.1:1');
      expect(alone).toEqual({
        code: 0,
        output: expect.stringMatching(/Done +Created web-1, web-2/) as string,
      });
      const { output } = await drover('version');
      for (const part of ['drover', 'definitions', 'workers'])
        expect(output).toMatch(new RegExp(`^${part} +${packageJson.version.replaceAll('.', '\\.')}$`, 'm'));
      for (const part of ['Temporal', 'KubeVirt', 'Kubernetes'])
        expect(output).toMatch(new RegExp(`^${part} +v?\\d+\\.`, 'm'));
    },
  );

  test('says where to get a worker and the servers for one machine', async () => {
    const worker = await installed.run('drover', ['worker']);
    expect(worker).toEqual({ code: 1, output: expect.stringMatching(/^error: .* run the container image.*\n$/) });
    const dev = await installed.run('drover', ['dev']);
    expect(dev).toEqual({ code: 1, output: expect.stringMatching(/^error: .* clone of the repository\n$/) });
  });

  test("is kubectl's plugin, and completes as kubectl asks", async () => {
    const { output } = await installed.run('kubectl-drover', ['scale', '--help']);
    expect(output).toMatch(/^Usage: kubectl drover scale /);
    const completed = await installed.run('kubectl_complete-drover', ['scale', '']);
    expect(completed).toEqual({ code: 0, output: 'pool\t\nvmrs\t\ndvmirs\t\n:4\n' });
  });

  test('completes kinds, names and flags in bash', async () => {
    const namespace = await fleet().namespace();
    await fleet().createPool(namespace, 'web', { replicas: 0 });
    const words = ['drover', 'scale', 'pool', '-n', namespace, ''];
    const script = `
_get_comp_words_by_ref() { cur=''; prev=${namespace}; words=(${words.slice(0, -1).join(' ')} ''); cword=5; }
source <(drover completion bash)
__drover_complete
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { kubeconfig } = fleet().stack;
    const PATH = [dirname(process.execPath), installed.path('.bin'), process.env['PATH']].join(delimiter);
    const { stdout } = await run('bash', ['-c', script], {
      env: { HOME: installed.folder, KUBECONFIG: kubeconfig, PATH },
    });
    expect(stdout.trim()).toBe('web');
  });
});
