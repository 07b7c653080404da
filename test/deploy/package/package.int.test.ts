import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { krewManifest } from '../../../deploy/package/krew.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { follow } from '../../clients/drover.ts';
import { aFleet, namesUpTo } from '../../integration/fleet.ts';
import { spawnReaped } from '../../reaped.ts';
import { isSoak } from '../../soak.ts';
import { Installed, npm } from './installed.ts';

const run = promisify(execFile);
const well = { code: 0, output: expect.any(String) as string };
const fleet = aFleet();
const LARGEST = 35 * 2 ** 20;

/** Finds a Node of this major version, which npm fetches if it must. */
async function nodeOf(major: number): Promise<string> {
  const args = ['exec', '--yes', `--package=node@${major}`, '-c', 'command -v node'];
  return (await npm(tmpdir(), ...args)).stdout.trim();
}

// A shell script starts each program.
describe.runIf(process.platform !== 'win32')('the npm package', () => {
  let installed: Installed;
  beforeAll(async () => {
    installed = new Installed(fleet);
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
      expect(await drover('scale', 'pool', 'web', '--remove', 'web-2', '-n', namespace)).toEqual(well);
      await fleet().settled(namespace, 'web', namesUpTo('web', 1));
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
      for (const part of ['Temporal', 'Kubernetes']) expect(output).toMatch(new RegExp(`^${part} +v?\\d+\\.`, 'm'));
      // Without its operator, KubeVirt does not report its version.
      expect(output).toMatch(/^KubeVirt +(v?\d+\.|unknown: KubeVirt has not reported it$)/m);
    },
  );

  test('serves the page of the dashboard, as JavaScript', async () => {
    const options = { env: installed.environment(), cwd: installed.folder };
    const dashboard = spawnReaped(installed.program('drover'), ['dashboard', '--no-browser'], options);
    let printed = '';
    dashboard.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await follow(dashboard.stdout!)('\n');
    const { origin } = new URL(printed);
    const read = async (path: string): Promise<string> => (await fetch(`${origin}${path}`)).text();
    expect(await read('/')).toContain('importmap');
    expect(await read('/page/main.ts')).toContain('import ');
    expect(await read('/lib/lit-html/lit-html.js')).toContain('export');
    const types = readFileSync(installed.path('drover', 'dashboard', 'contract', 'fleet.ts'), 'utf8');
    expect(types).not.toContain('interface');
    dashboard.kill('SIGINT');
    expect(await once(dashboard, 'close')).toEqual([0, null]);
  });

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
    expect(completed).toEqual({ code: 0, output: 'pool\t\n:4\n' });
  });

  test('runs as krew unpacks and links it', async () => {
    const { spec } = parse(krewManifest(installed.packed, 'https://releases.example/drover.tgz')) as {
      spec: { platforms: [{ files: [{ from: string; to: string }]; bin: string }] };
    };
    const [{ files, bin }] = spec.platforms;
    const [unpacked, store] = ['unpacked', 'store'].map((name) => join(installed.folder, name));
    for (const folder of [unpacked!, store!]) mkdirSync(folder);
    await run('tar', ['-xzf', installed.packed, '-C', unpacked!]);
    for (const { from, to } of files)
      for (const file of globSync(from, { cwd: unpacked! }))
        renameSync(join(unpacked!, file), join(store!, to, basename(file)));
    const plugin = join(installed.folder, 'kubectl-drover');
    symlinkSync(join(store!, bin), plugin);
    expect(await installed.run(plugin, ['scale', '--help'])).toEqual({
      code: 0,
      output: expect.stringMatching(/^Usage: kubectl drover scale /) as string,
    });
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
    const { stdout } = await run('bash', ['-c', script], { env: installed.environment() });
    expect(stdout.trim()).toBe('web');
  });
});
