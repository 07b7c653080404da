import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { catalog, type Tool, type ToolName } from '../../../dev/tools/catalog.ts';
import { resolveTools } from '../../../dev/tools/resolve.ts';

const PLATFORM = `${process.platform}-${{ x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch}`;
const NAMES: ToolName[] = ['temporal', 'etcd', 'kube-apiserver'];
const VERSIONS: Record<ToolName, string> = {
  temporal: 'temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)',
  etcd: 'etcd Version: 3.6.0',
  'kube-apiserver': 'Kubernetes v1.35.4',
};
const tools = catalog();

let folder: string;
let cache: string;
let progress: string[];
let servers: Server[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drover-tools-'));
  cache = join(folder, 'cache');
  progress = [];
  servers = [];
});
afterEach(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

function script(file: string, body: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

const program = (file: string, name: ToolName, version = VERSIONS[name]): string => script(file, `echo '${version}'`);
const cached = (tool: Tool): string =>
  join(cache, 'tools', `${tool.name}-${tool.version}-${process.platform}-${process.arch}`, tool.name);

/**
 * Writes a `go` that prints its version, records each build, and runs `body` for it; `$target` is the file to build.
 */
function fakeGo(body: string): string {
  const bin = join(folder, 'go-bin');
  script(
    join(bin, 'go'),
    `if [ "$1" = env ]; then echo go1.26.8; exit 0; fi
     for word; do [ "$previous" = -o ] && target=$word; previous=$word; done
     echo "$target" >> ${folder}/builds
     ${body}`,
  );
  return bin;
}
const builds = (): string[] =>
  existsSync(join(folder, 'builds')) ? readFileSync(join(folder, 'builds'), 'utf8').trim().split('\n') : [];
/** Builds a program that succeeds. */
const BUILDS_WELL = `printf '#!/bin/sh\\n# built\\necho ok\\n' > "$target"; chmod +x "$target"`;

const resolve = (
  env: NodeJS.ProcessEnv,
  more: { signal?: AbortSignal; tools?: Record<ToolName, Tool> } = {},
): Promise<Record<ToolName, string>> =>
  resolveTools({
    cache,
    onProgress: (line) => void progress.push(line),
    env: { DROVER_DOWNLOADS: 'no', ...env, PATH: `${env['PATH'] ?? ''}:/usr/bin:/bin` },
    ...more,
  });

/** Serves files by path, and counts how often each is asked for. */
async function serve(files: Record<string, Buffer | string>): Promise<{ url: string; asked: Map<string, number> }> {
  const asked = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.set(path, (asked.get(path) ?? 0) + 1);
    const file = files[path];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

function archive(name: string, members: Record<string, string>): Buffer {
  const root = join(folder, `archive-${name}`);
  for (const [path, body] of Object.entries(members)) script(join(root, path), body);
  const file = `${root}.tar.gz`;
  execFileSync('tar', ['-czf', file, '-C', root, ...new Set(Object.keys(members).map((path) => path.split('/')[0]!))]);
  return readFileSync(file);
}

const goMod = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../dev/tools', name, 'go.mod'), 'utf8');
const hashOf = (algorithm: string, content: Buffer): string => createHash(algorithm).update(content).digest('hex');

/** Starts a server with releases laid out as the two projects do. */
async function releases(change: (files: Record<string, Buffer | string>) => void = () => {}) {
  const temporal = archive('temporal', { temporal: `echo '${VERSIONS.temporal}'` });
  const kubernetes = archive('envtest', {
    'controller-tools/envtest/kube-apiserver': "echo 'Kubernetes v1.35.2'",
    'controller-tools/envtest/etcd': `echo '${VERSIONS.etcd}'`,
    'controller-tools/envtest/kubectl': 'true',
  });
  const version = tools.temporal.version;
  const name = `temporal_cli_${version}_${PLATFORM.replace('-', '_')}.tar.gz`;
  const files: Record<string, Buffer | string> = {
    [`/temporal/v${version}/${name}`]: temporal,
    [`/temporal/v${version}/checksums.txt`]: `${'0'.repeat(64)}  other.tar.gz\n${hashOf('sha256', temporal)}  ${name}\n`,
    '/envtest-1.35.10.tar.gz': kubernetes,
  };
  const { url, asked } = await serve(files);
  const entry = (release: string, link: string, content: Buffer): string =>
    `  ${release}:\n    envtest-${release}-${PLATFORM}.tar.gz:\n      hash: ${hashOf('sha512', content)}\n      selfLink: ${url}${link}\n`;
  files['/index.yaml'] =
    'releases:\n' +
    entry('v1.35.9', '/too-old.tar.gz', kubernetes) +
    entry('v1.35.10', '/envtest-1.35.10.tar.gz', kubernetes) +
    entry('v1.35.11-beta.0', '/too-new.tar.gz', kubernetes) +
    entry('v1.36.0', '/too-new.tar.gz', kubernetes);
  change(files);
  const env = {
    DROVER_DOWNLOADS: '',
    DROVER_TEMPORAL_RELEASES: `${url}/temporal`,
    DROVER_ENVTEST_INDEX: `${url}/index.yaml`,
  };
  return { env, asked };
}

describe('the search for a tool', () => {
  test('begins where the environment says, then on PATH, then in the cache', async () => {
    const bin = join(folder, 'bin');
    for (const name of NAMES) {
      program(cached(tools[name]), name);
      if (name !== 'kube-apiserver') program(join(bin, name), name);
    }
    const given = program(join(folder, 'my-etcd'), 'etcd');
    expect(await resolve({ PATH: bin, DROVER_ETCD: given })).toEqual({
      temporal: join(bin, 'temporal'),
      etcd: given,
      'kube-apiserver': cached(tools['kube-apiserver']),
    });
    expect(progress).toEqual([]);
  });

  test.each([
    ['temporal', 'temporal version 1.4.1 (Server 1.28.0, UI 2.39.0)'],
    ['temporal', 'temporal version 9 (Server 2.0.0)'],
    ['etcd', 'etcd Version: 3.4.30'],
    ['kube-apiserver', 'Kubernetes v1.28.9'],
    ['kube-apiserver', 'something else'],
  ] as const)('%s on PATH that says "%s" is skipped', async (name, version) => {
    for (const each of NAMES) program(cached(tools[each]), each);
    const bin = join(folder, 'bin');
    program(join(bin, name), name, version);
    expect((await resolve({ PATH: bin }))[name]).toBe(cached(tools[name]));
  });

  test('fails if the path in the environment is not a program, with an error that names both', async () => {
    const wrong = join(folder, 'no-such-etcd');
    await expect(resolve({ DROVER_ETCD: wrong })).rejects.toThrow(
      `DROVER_ETCD is ${wrong}, which is not a program that can be run`,
    );
  });

  test('uses the versions of the Go modules', () => {
    expect(goMod('temporal')).toContain(`github.com/temporalio/cli v${tools.temporal.version}`);
    expect(goMod('kubernetes')).toContain(`k8s.io/kubernetes v${tools['kube-apiserver'].version}`);
    expect(goMod('kubernetes')).toContain(`go.etcd.io/etcd/server/v3 v${tools.etcd.version}`);
  });
});

describe('published binaries', () => {
  test("are fetched into the cache, envtest's archive once, of the newest patch release", async () => {
    const { env, asked } = await releases();
    const found = await resolve(env);
    for (const name of NAMES) expect(found[name]).toBe(cached(tools[name]));
    expect(execFileSync(found['kube-apiserver'], { encoding: 'utf8' })).toBe('Kubernetes v1.35.2\n');
    expect(asked.get('/envtest-1.35.10.tar.gz')).toBe(1);
    expect(readdirSync(join(cache, 'tools')).filter((name) => /download|unfinished|lock/.test(name))).toEqual([]);

    asked.clear();
    expect(await resolve(env)).toEqual(found);
    expect(asked.size).toBe(0);
  });

  test('are built instead if they do not match their checksum', async () => {
    const { env } = await releases((files) => {
      files['/envtest-1.35.10.tar.gz'] = archive('tampered', {
        etcd: 'echo tampered',
        'kube-apiserver': 'echo tampered',
      });
    });
    const found = await resolve({ ...env, PATH: fakeGo(BUILDS_WELL) });
    expect(readFileSync(found.etcd, 'utf8')).toContain('# built');
    expect(readFileSync(found['kube-apiserver'], 'utf8')).toContain('# built');
    expect(readFileSync(found.temporal, 'utf8')).not.toContain('# built');
    expect(progress.join('\n')).toContain('envtest-1.35.10.tar.gz is not what its sha512 checksum says');
  });

  test('are built instead if they do not run here', async () => {
    const { env } = await releases((files) => {
      const broken = archive('broken', { temporal: 'exit 1' });
      const version = tools.temporal.version;
      const name = `temporal_cli_${version}_${PLATFORM.replace('-', '_')}.tar.gz`;
      files[`/temporal/v${version}/${name}`] = broken;
      files[`/temporal/v${version}/checksums.txt`] = `${hashOf('sha256', broken)}  ${name}\n`;
    });
    const found = await resolve({ ...env, PATH: fakeGo(BUILDS_WELL) });
    expect(readFileSync(found.temporal, 'utf8')).toContain('# built');
    expect(progress).toContain('the published temporal does not run here');
  });

  test('are built instead if no server answers, with a line that says why', async () => {
    const { url } = await serve({});
    servers.pop()!.close();
    const env = { DROVER_DOWNLOADS: '', DROVER_TEMPORAL_RELEASES: url, DROVER_ENVTEST_INDEX: `${url}/index.yaml` };
    const found = await resolve({ ...env, PATH: fakeGo(BUILDS_WELL) });
    for (const name of NAMES) expect(readFileSync(found[name], 'utf8')).toContain('# built');
    expect(progress.filter((line) => line.startsWith('no published'))).toHaveLength(2);
    expect(progress[0]).toMatch(/^no published temporal could be had from 127\.0\.0\.1:\d+ \(.*ECONNREFUSED.*\)$/);
  });
});

describe('a build', () => {
  test('happens once, also for two callers at the same time', async () => {
    const env = { PATH: fakeGo(`sleep 0.3; ${BUILDS_WELL}`) };
    const [one, other] = await Promise.all([resolve(env), resolve(env)]);
    expect(one).toEqual(other);
    await resolve(env);
    expect(builds()).toHaveLength(3);
    expect(progress.some((line) => /^waiting for process \d+, which is making /.test(line))).toBe(true);
  });

  test('happens again for another version', async () => {
    const env = { PATH: fakeGo(BUILDS_WELL) };
    const before = await resolve(env);
    const after = await resolve(env, { tools: { ...tools, etcd: { ...tools.etcd, version: '99.0.0' } } });
    expect(after.etcd).not.toBe(before.etcd);
    expect(after.temporal).toBe(before.temporal);
    expect(builds()).toHaveLength(4);
  });

  test.each([
    ['write /var/go-build: no space left on device', /the disk is full: make room/],
    [
      'go: go.mod requires go >= 1.26.0 (running go 1.22.2; GOTOOLCHAIN=local)',
      /this Go is too old: install Go 1\.26 or newer/,
    ],
    [
      'go: example.com/x@v1.0.0: Get "https://x/": dial tcp: lookup x: no such host',
      /could not be fetched.*connect it or set GOPROXY/,
    ],
    ['module lookup disabled by GOPROXY=off', /connect it or set GOPROXY, or give a binary with DROVER_TEMPORAL/],
    ['open /home/me/.cache/go-build/x: permission denied', /can't be written: set DROVER_CACHE, GOCACHE/],
    ['compile: signal: killed', /not enough memory/],
    ['main.go:3: undefined: x', /go build ended with exit code 1.*main\.go:3: undefined: x/s],
  ])('that fails with "%s" says what to do', async (said, sentence) => {
    await expect(resolve({ PATH: fakeGo(`echo '${said}' >&2; exit 1`) })).rejects.toThrow(sentence);
    expect(existsSync(cached(tools.temporal))).toBe(false);
    expect(readdirSync(join(cache, 'tools'))).toEqual([]);
  });

  test('without a Go toolchain says where to get one, and the way around it', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    const failed = resolveTools({ cache, onProgress: () => {}, env: { PATH: bin, DROVER_DOWNLOADS: 'no' } });
    await expect(failed).rejects.toThrow(
      /no Go toolchain on PATH: install Go 1\.26 .*, or give a binary with DROVER_TEMPORAL/,
    );
  });

  test('into a cache that cannot be written says which folder it is', async () => {
    writeFileSync(cache, 'a file, where the folder should be');
    await expect(resolve({ PATH: fakeGo(BUILDS_WELL) })).rejects.toThrow(
      /^the cache .*\/cache can't be written \(\w+\): set DROVER_CACHE/,
    );
  });

  test('ends with the signal, and leaves no process and no half of a tool', async () => {
    const interrupt = new AbortController();
    const env = { PATH: fakeGo(`echo $$ > ${folder}/pid; sleep 60`) };
    const failed = resolve(env, { signal: interrupt.signal });
    failed.catch(() => {});
    await expect
      .poll(() => existsSync(join(folder, 'pid')) && readFileSync(join(folder, 'pid'), 'utf8').endsWith('\n'), {
        timeout: 20_000,
      })
      .toBe(true);
    interrupt.abort(new Error('enough'));
    await expect(failed).rejects.toThrow('enough');
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(readdirSync(join(cache, 'tools'))).toEqual([]);
  });
});
