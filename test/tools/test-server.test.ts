import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveTestServer } from './test-server.ts';

let folder: string;
let bin: string;
let cache: string;
let progress: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drover-test-server-'));
  bin = join(folder, 'bin');
  cache = join(folder, 'the cache');
  progress = [];
  mkdirSync(bin);
  symlinkSync('/bin/sh', join(bin, 'sh'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function script(file: string, body: string): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Writes fake Java and Maven tools that record their calls. */
function tools(bodies: Partial<Record<'mvn' | 'javac' | 'jar' | 'java', string>> = {}): void {
  symlinkSync('/bin/mkdir', join(bin, 'mkdir'));
  const all = { mvn: 'mkdir -p lib; : > lib/b.jar; : > lib/a.jar', ...bodies };
  for (const name of ['mvn', 'javac', 'jar', 'java'] as const)
    script(join(bin, name), `echo "${name} $*" >> '${folder}/calls'\n${all[name] ?? ''}`);
}
const calls = (): string[] =>
  existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [];

const resolve = (env: NodeJS.ProcessEnv = {}): Promise<string> =>
  resolveTestServer({ cache, env: { PATH: bin, ...env }, onProgress: (line) => progress.push(line) });

test('a server that the environment names is used, without Java', async () => {
  const path = script(join(folder, 'a-server'), '');
  expect(await resolve({ DROVER_TEMPORAL_TEST_SERVER: path })).toBe(path);
  await expect(resolve({ DROVER_TEMPORAL_TEST_SERVER: join(folder, 'none') })).rejects.toThrow(
    /DROVER_TEMPORAL_TEST_SERVER is .*none, which is not a program/,
  );
});

test('the server is fetched with Maven once, also for two callers at the same time', async () => {
  tools();
  const [one, other] = await Promise.all([resolve(), resolve()]);
  expect(await resolve()).toBe(one);
  expect(other).toBe(one);
  expect(calls()).toEqual([
    expect.stringMatching(
      /^mvn .*temporal-test-server\/pom.xml .*:copy-dependencies -DincludeScope=runtime -DoutputDirectory=.*\/lib$/,
    ),
    expect.stringMatching(/^javac --release 17 .*\/TimeSkippingServer.java$/),
    'jar --create --file server.jar -C classes .',
    expect.stringMatching(
      /^java .*-XX:ArchiveClassesAtExit=classes.jsa -cp server.jar:lib\/a.jar:lib\/b.jar TimeSkippingServer$/,
    ),
  ]);
  expect(readdirSync(join(cache, 'tools'))).toEqual([
    expect.stringMatching(/^temporal-test-server-\d+\.\d+\.\d+-[0-9a-f]{8}$/),
  ]);
});

test('a machine without Java and Maven gets one sentence about what to do', async () => {
  await expect(resolve()).rejects.toThrow(
    /^temporal-test-server [\d.]+ needs Java and Maven, and there is no java, javac, jar, mvn on PATH: install a JDK of version 17 or newer and Maven, or give a server with DROVER_TEMPORAL_TEST_SERVER$/,
  );
});

test.each([
  [
    '[ERROR] Could not transfer artifact a:b',
    /there is no network.*; mvn said:\n {2}\[ERROR\] Could not transfer artifact a:b$/,
  ],
  ['[ERROR] something else', /: mvn failed; mvn said:\n {2}\[ERROR\] something else$/],
])('the error quotes what Maven says of %s, and nothing is left behind', async (words, told) => {
  tools({ mvn: `echo '${words}\n[ERROR] \n[ERROR] Re-run Maven with -X'; exit 1` });
  await expect(resolve()).rejects.toThrow(told);
  expect(readdirSync(join(cache, 'tools'))).toEqual([]);
});
