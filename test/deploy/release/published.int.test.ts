import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { droverCrds } from '../../../api/crd/crds.ts';
import { CONFIRM_DELETION_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { CustomResourceDefinitions } from '../../../api/resources.ts';
import { defaultCache } from '../../../dev/paths.ts';
import { aFleet, until } from '../../integration/fleet.ts';
import { resolveGoTool } from '../../tools/go-tools.ts';
import { resolveVerdaccio } from '../../tools/verdaccio.ts';
import { hasKubectl } from '../chart/helm.ts';
import { Image, type Platform } from '../image.ts';
import { Node } from './node.ts';
import { Registries } from './registries.ts';
import { ReleasedClone, version } from './released-clone.ts';
import { writeStandIns } from './stand-ins.ts';

const run = promisify(execFile);
const fleet = aFleet({ workers: 0, ownStack: true });
const PLATFORMS: Platform[] = ['amd64', 'arm64'];
const [NPM, CHART] = [`drover-npm-${version}.tgz`, `drover-${version}.tgz`];

let clone: ReleasedClone;
let registries: Registries;
let helm: string;
/** Of the user who publishes. */
let environment: NodeJS.ProcessEnv;

/** These programs, this Node, and those of the machine. */
const pathWith = (...folders: string[]): string => {
  const ofMachine = process.env['PATH']!.split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return [...folders, dirname(process.execPath), ...ofMachine].join(delimiter);
};

/** Of someone who has this HOME, knows the registries, and has nothing of what runs these tests. */
function environmentOfUser(home: string, ...programs: string[]): NodeJS.ProcessEnv {
  const names = ['LANG', 'TMPDIR', 'GOMAXPROCS'];
  const kept = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  const npm = { npm_config_registry: registries.npm, npm_config_userconfig: join(home, '.npmrc') };
  return { ...kept, ...npm, HOME: home, PATH: pathWith(...programs), SSL_CERT_FILE: registries.authority };
}

/** Runs one of the programs that publish, and returns what it printed. */
const ask = async (program: string, ...args: string[]): Promise<string> =>
  (await run(program, args, { env: environment })).stdout.trim();

/** Does what the workflow of a release does with the tag, but for what it installs; returns what was said. */
async function work(env: NodeJS.ProcessEnv = {}): Promise<string> {
  const workflow = parse(readFileSync(join(clone.path, '.github/workflows/release.yml'), 'utf8')) as {
    jobs: { publish: { steps: { run?: string }[] } };
  };
  const steps = workflow.jobs.publish.steps.flatMap((step) => step.run ?? []);
  const script = steps.filter((step) => !/^(npm ci|go build)/.test(step)).join('\n');
  const { stdout } = await run('bash', ['-e', '-o', 'pipefail', '-c', script], {
    cwd: clone.path,
    env: { ...environment, ...env },
  });
  return stdout;
}

const pushed = (name: string): string => `${registries.oci}/${name}:${version}`;
const digest = (): Promise<string> => ask('crane', 'digest', pushed('drover'));
const sumOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const isInNpm = async (): Promise<boolean> => (await fetch(new URL('drover', registries.npm))).ok;

/** What is in the image for each platform, by the lines of the Dockerfile, as archives. */
function writeLayers(folder: string): void {
  mkdirSync(folder);
  for (const platform of PLATFORMS) {
    const image = new Image(platform);
    try {
      execFileSync('tar', ['-cf', join(folder, `${platform}.tar`), '-C', image.root, 'app']);
    } finally {
      image.remove();
    }
  }
}

// An image holds Linux programs, whatever machine builds it.
beforeAll(async () => {
  const options = { cache: defaultCache(), onProgress: () => {} };
  helm = await resolveGoTool('helm', options);
  const crane = await resolveGoTool('crane', options);
  const cosign = await resolveGoTool('cosign', options);
  clone = new ReleasedClone();
  registries = await Registries.start(clone.in('registries'), { crane, verdaccio: await resolveVerdaccio(options) });
  const [programs, layers, asked] = [clone.in('programs'), clone.in('layers'), clone.in('asked')];
  writeStandIns(programs, { programs: { helm, crane, cosign }, layers, without: clone.folder, asked });
  writeLayers(layers);
  environment = {
    ...environmentOfUser(clone.folder, programs),
    IMAGE: `${registries.oci}/drover`,
    CHARTS: `oci://${registries.oci}/charts`,
    NODE_AUTH_TOKEN: registries.token,
    GITHUB_REF_NAME: `v${version}`,
    GITHUB_PATH: clone.in('path'),
    GITHUB_SERVER_URL: 'https://sources.example',
    GITHUB_REPOSITORY: 'drover/drover',
    RUNNER_TEMP: clone.folder,
    COSIGN_KEY: clone.in('cosign.key'),
    COSIGN_PASSWORD: '',
  };
  await ask(cosign, 'signing-config', 'create', '--out', clone.in('services'));
  await ask(cosign, 'trusted-root', 'create', '--out', clone.in('root'));
  execFileSync(cosign, ['generate-key-pair'], { cwd: clone.folder, env: environment, stdio: 'ignore' });
  clone.release();
}, 600_000);
afterAll(() => {
  registries?.stop();
  clone?.remove();
});

test('npm comes last, an attempt that it refuses can be repeated, and what is published stays as it is', async () => {
  // npm asks the workflow who it is, and this one doesn't say.
  let questions = 0;
  const identity = createServer((_, answer) => {
    questions++;
    answer.writeHead(400).end();
  }).listen(0, '127.0.0.1');
  await once(identity, 'listening');
  const url = `http://127.0.0.1:${(identity.address() as AddressInfo).port}/?`;
  const ofWorkflow = { GITHUB_ACTIONS: 'true', ACTIONS_ID_TOKEN_REQUEST_URL: url, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'x' };
  const attempt = work(ofWorkflow);
  await expect(attempt).rejects.toMatchObject({
    stderr: expect.stringMatching(/not released: `npm publish .*\n$/) as string,
  });
  identity.close();
  expect(questions).toBeGreaterThan(0);
  expect([await isInNpm(), existsSync(join(clone.path, 'dist'))]).toEqual([false, false]);
  for (const name of ['drover', 'charts/drover']) await ask('crane', 'digest', pushed(name));

  expect(await work()).toContain(`npm registry: drover ${version}\n`);
  expect(await isInNpm()).toBe(true);
  const before = await digest();
  rmSync(join(clone.path, 'dist'), { recursive: true });
  expect(await work()).toContain('npm registry: there already');
  expect(await digest()).toBe(before);

  renameSync(join(clone.path, 'dist'), clone.in('dist'));
  const other = work({ GITHUB_REPOSITORY: 'another/drover' });
  await expect(other).rejects.toMatchObject({
    stderr: expect.stringContaining(`has another drover ${version}: set`) as string,
  });
});

test('the image is for both platforms, and the chart installs it by its digest', async () => {
  const index = JSON.parse(await ask('crane', 'manifest', pushed('drover'))) as { manifests: { platform: object }[] };
  expect(index.manifests.map(({ platform }) => platform)).toMatchObject(
    PLATFORMS.map((architecture) => ({ os: 'linux', architecture })),
  );
  const values = parse(await ask('helm', 'show', 'values', `oci://${registries.oci}/charts/drover`)) as object;
  expect(values).toMatchObject({ image: { repository: `${registries.oci}/drover`, digest: await digest() } });
});

test('image, chart and checksums are signed, and the checksums are of all that the release has', async () => {
  const key = ['--key', clone.in('cosign.pub'), '--insecure-ignore-tlog'];
  for (const name of ['drover', 'charts/drover']) await ask('cosign', 'verify', ...key, pushed(name));
  const out = clone.in('dist', version);
  const sums = join(out, 'SHA256SUMS');
  await ask('cosign', 'verify-blob', ...key, '--bundle', `${sums}.sigstore.json`, sums);
  const files = readdirSync(out).filter((file) => !file.startsWith('SHA256SUMS'));
  const made = new Map(files.map((file) => [file, sumOf(readFileSync(join(out, file)))]));
  expect(readFileSync(sums, 'utf8')).toBe(
    [...made]
      .map(([file, sum]) => `${sum}  ${file}\n`)
      .toSorted()
      .join(''),
  );
  expect(files.toSorted()).toEqual([CHART, `drover-${version}.cdx.json`, NPM, 'NOTICES.md', 'drover.yaml'].toSorted());
  // The names are those of the files at the release, where all are in one place.
  const asked = readFileSync(clone.in('asked'), 'utf8');
  for (const file of [...files, 'SHA256SUMS.sigstore.json']) expect(asked).toContain(`dist/${version}/${file}\n`);

  const manifest = parse(readFileSync(join(out, 'drover.yaml'), 'utf8')) as {
    spec: { platforms: [{ uri: string; sha256: string }] };
  };
  const [{ uri, sha256 }] = manifest.spec.platforms;
  expect(sumOf(Buffer.from(await (await fetch(uri)).arrayBuffer()))).toBe(sha256);
  const ofNpm = JSON.parse(await ask('npm', 'view', 'drover', '--json')) as object;
  expect(ofNpm).toMatchObject({ version, repository: { url: 'git+https://sources.example/drover/drover.git' } });
});

/** Removes drover's definitions, which the tests' servers have. */
async function forgetDrover(): Promise<void> {
  const { kube } = fleet();
  for (const { metadata } of droverCrds()) {
    const key = { name: metadata.name };
    const annotations = { [CONFIRM_DELETION_ANNOTATION]: 'true' };
    await kube.patch(CustomResourceDefinitions, key, 'merge', { metadata: { annotations } });
    await kube.delete(CustomResourceDefinitions, key);
    await until(() => expect(kube.get(CustomResourceDefinitions, key)).rejects.toMatchObject({ status: 404 }));
  }
}

// Of kubectl, which waits for the workers.
test.runIf(hasKubectl)(
  'a user with an empty folder rolls out a pool by the commands of the README, from the registries alone',
  async () => {
    await forgetDrover();
    const readme = readFileSync(join(clone.path, 'README.md'), 'utf8');
    const [, install = ''] = /^## Install\n([^]*?)^## /m.exec(readme) ?? [];
    const words = [...install.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block]) => block);
    const temporal = fleet().stack.temporalAddress;
    const commands = words
      .join('')
      .replaceAll('registry.example', registries.oci)
      .replaceAll(/temporal-frontend\.temporal:7233|localhost:7233/g, temporal);

    const [home, empty, programs] = ['home-', 'empty-', 'helm-'].map((name) => mkdtempSync(clone.in(name)));
    symlinkSync(helm, join(programs!, 'helm'));
    const node = new Node(fleet, clone.folder, (script) => ask('bash', '-e', '-o', 'pipefail', '-c', script));
    const prefix = join(home!, 'npm');
    const user = run('bash', ['-e', '-o', 'pipefail', '-c', commands], {
      cwd: empty!,
      env: {
        ...environmentOfUser(home!, join(prefix, 'bin'), programs!),
        npm_config_prefix: prefix,
        KUBECONFIG: fleet().stack.kubeconfig,
      },
    });
    const [did, stop] = await Promise.all([user, node.play()]);
    expect(did.stdout).toMatch(/\d+ checks: none failed/);
    expect(did.stdout.match(/pool web matches its spec/g)).toHaveLength(2);
    expect(did.stdout).toMatch(/create +web-1 … web-4 [^]*restart +web-1 … web-4 .* Updated/);
    expect(await stop()).toEqual([0, null]);
  },
);
