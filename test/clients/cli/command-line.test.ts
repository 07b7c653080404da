import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { eachSetting, isOfDashboard, isOfWorker } from '../../../workers/settings/settings.ts';
import { BIN, childrenOf, drover, nowhere, outcomeOf } from '../drover.ts';
import { droverHere } from '../in-process.ts';

const COMMANDS = ['apply', 'status', 'scale', 'rollout', 'history', 'vm', 'drain', 'setup', 'worker', 'dev'];

describe('help', () => {
  test('of drover lists every command', async () => {
    const { code, stdout } = await drover(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
  });

  test('of worker lists every setting of one, with its flag, its variable and its default', async () => {
    const { stdout } = await droverHere(['worker', '--help']);
    const words = stdout.replaceAll(/\s+/g, ' ');
    for (const [, { flag, variable, value, without }] of eachSetting().filter(([name]) => isOfWorker(name))) {
      expect(stdout).toMatch(new RegExp(`^ {2}${flag} <\\w+>`, 'm'));
      expect(words).toContain(`(default: ${value ?? without!.replaceAll('`', '')}) (env: ${variable})`);
    }
  });

  test('of drover lists the flag of every setting that is not of workers or the dashboard alone', async () => {
    const { stdout } = await droverHere(['--help']);
    for (const [name, { flag }] of eachSetting())
      if (!isOfWorker(name) && !isOfDashboard(name) && flag !== undefined)
        expect(stdout).toMatch(new RegExp(`^ {2}(-\\w, )?${flag} <`, 'm'));
  });

  test('is printed by drover alone', async () => {
    const [alone, asked] = await Promise.all([drover([]), drover(['--help'])]);
    expect(alone).toEqual(asked);
  });

  const ofRollouts = ['status', 'history', 'diff', 'pause', 'resume', 'promote', 'abort', 'undo', 'restart'];
  const ofHealing = ['status', 'pause', 'resume', 'now', 'skip'];
  test.each([
    ...COMMANDS,
    ...ofRollouts.map((verb) => `rollout ${verb}`),
    ...ofHealing.map((verb) => `heal ${verb}`),
    'dev stop',
    'dev status',
  ])('of %s has examples and the global flags', async (command) => {
    const { code, stdout, stderr } = await droverHere([...command.split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`Examples:\n {2}# .+\n {2}.*drover ${command}`));
    expect(stdout).toContain('--kubeconfig');
  });
});

test.runIf(existsSync('/dev/full'))('output that cannot be written is replaced by one sentence', async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [BIN, '--help'], { env: nowhere, stdio: ['ignore', full, 'pipe'] });
  let stderr = '';
  child.stderr!.on('data', (data: Buffer) => (stderr += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: "error: standard output can't be written: ENOSPC: no space left on device, write\n",
  });
});

const SELECTOR_FAULT =
  '--selector: "=,=" is not a valid label selector: a label is missing before "="; write it as in app=web,tier!=db,size in (s,m),!old';

describe('wrong usage has exit code 2 and one sentence', () => {
  test.each([
    [['statu', 'pools'], "unknown command 'statu'; did you mean status?"],
    [['drain', 'start', 'node-1', '--reasn', 'x'], "unknown option '--reasn'; did you mean --reason?"],
    [
      ['scale', 'pool', 'web', '--remove', 'web-7', '--current-replicas', 'many'],
      "option '--current-replicas <count>' argument 'many' is invalid. Give a whole number, 0 or more.",
    ],
    [['scale', 'pool', 'web'], "required option '--remove <names>' not specified"],
    [
      ['scale', 'pool', 'web', '--remove', 'web-7', 'web-9'],
      "too many arguments for 'scale'. Expected 2 arguments but got 3: pool, web, web-9.",
    ],
    [['scale', 'vmrs', 'web', '--remove', 'web-7'], '"vmrs" is a replica set, and this command takes pool'],
    [['scale', 'pool', 'web', '--remove', ','], 'which vm? Give its name'],
    [['scale', 'pool', '--remove', 'web-7'], 'which pool? Give its name'],
    [['heal', 'now'], "missing required argument 'kind': pool NAME, or pool/NAME"],
    [
      ['vm', 'restart', 'default/web-1'],
      '"default" is not a kind that this command takes: give vm, and a namespace by -n',
    ],
    [['vm', 'restart', 'web-1', '--no-wait=now'], "option '--no-wait' takes no value"],
    [
      ['vm', 'stop', 'web-1', '--schedule', '@daily'],
      '--schedule "@daily": must have five fields: minute, hour, day of month, month, day of week, here 0 0 * * *',
    ],
    [
      ['vm', 'stop', 'web-1', '--schedule', 'TZ=UTC 0 3 * * *'],
      '--schedule "TZ=UTC 0 3 * * *": must have five fields: minute, hour, day of month, month, day of week; the time zone is given apart from it',
    ],
    [
      ['vm', 'stop', 'web-1', '--schedule', '0 3 * * *', '--time-zone', 'europe/zurich'],
      '--time-zone: europe/zurich is written Europe/Zurich',
    ],
    [
      ['vm', 'stop', 'web-1', '--schedule', '0 3 * * *', '--name', 'n'.repeat(53)],
      `option '--name <name>' argument '${'n'.repeat(53)}' is invalid. Give at most 52 lower-case letters, digits, - and ., with a letter or digit at both ends.`,
    ],
    [['apply', '-f', ''], "option '-f, --filename <path>' argument '' is invalid. Give a file, a folder, or -."],
    [
      ['status', '--address', 'http://127.0.0.1:7233'],
      "option '--address <host:port>' argument 'http://127.0.0.1:7233' is invalid. Give a host and a port, such as 127.0.0.1:7233.",
    ],
    [['completion', 'tcsh'], "'tcsh' is invalid for 'shell'. Allowed choices are bash, zsh, fish."],
    [
      ['schedules', 'run'],
      "missing required argument 'name': name of the schedule, as `kubectl get vmopschedule` shows it",
    ],
    [['history'], "missing required argument 'kind': pool, vmrs, dvmirs or vm, or KIND/NAME"],
    [['drain', 'status'], "missing required argument 'node': its name"],
    [
      ['drain', 'status', 'worker-7', '-o', 'wide'],
      "option '-o, --output <format>' argument 'wide' is invalid. Allowed choices are json, yaml.",
    ],
    [['status', 'polls'], '"polls" is not a kind that this command takes; did you mean pools?'],
    [
      ['status', 'pools', '-o', 'jsn'],
      "option '-o, --output <format>' argument 'jsn' is invalid. Allowed choices are json, yaml.",
    ],
    [['status', '-l', '=,='], SELECTOR_FAULT],
    [['status', 'pool', 'web', '-l', 'app=web'], 'give names or a selector, not both'],
    [
      ['status', '-o', 'json', '--watch'],
      'give --output or --watch, not both: `kubectl get dpool --watch -o json` prints each change',
    ],
    [['vm', 'pending', '--selector==,='], SELECTOR_FAULT],
    [['vm', 'pending', '-l', '=,='], SELECTOR_FAULT],
    [['vm', 'restart', '--pending', '-l', '=,='], SELECTOR_FAULT],
    [
      ['status', '-l', ''],
      '--selector: "" is not a valid label selector: a label is missing at its end; write it as in app=web,tier!=db,size in (s,m),!old',
    ],
    [['status', 'pool', 'web', '-A'], 'a name is looked for in one namespace: leave out -A or the name'],
    [['vm', 'restart', '--pending', '--owner', 'vmi/web'], '"vmi" is a VMI, and this command takes pool or vmrs'],
    [['vm', 'restart', 'dvmirs/web'], '"dvmirs" is a VMI replica set, and this command takes vm'],
    [['vm', 'restart', '--pending', '--owner', 'web'], '--owner: "web" is not KIND/NAME, such as vmrs/runners'],
    [['vm', 'restart', '--pending', '--owner', 'vm/web'], '"vm" is a VM, and this command takes pool or vmrs'],
    [['vm', 'restart', '--pending', '--owner', 'vmrs/web', '--pool', 'web'], 'give --pool or --owner, not both'],
    [
      ['vm', 'restart', '--pending', '--owner', 'vmrs/web', '-A'],
      'a replica set is looked for in one namespace: leave out -A or its name',
    ],
    [['status', 'vmrs/runners', 'pool/web'], 'vmrs/runners pool/web: one command takes one kind'],
    [['status', 'vmsr'], '"vmsr" is not a kind that this command takes; did you mean vmrs?'],
    [
      ['apply', '-f', 'x', '--timeout', 'soon'],
      "option '--timeout <duration>' argument 'soon' is invalid. Give a duration such as 30s, 5m or 1h30m.",
    ],
    [
      ['apply', '-f', 'x', '--timeout', '5'],
      "option '--timeout <duration>' argument '5' is invalid. Give a duration with its unit, such as 5s or 5m.",
    ],
    [
      ['rollout', 'status', '--watch', '--timeout', '5'],
      "option '--timeout <duration>' argument '5' is invalid. Give a duration with its unit, such as 5s or 5m.",
    ],
    [
      ['vm', 'restart', '--pending', '--deadline', '5'],
      "option '--deadline <duration>' argument '5' is invalid. Give a duration with its unit, such as 5s or 5m.",
    ],
    [
      ['disks', 'prune', '--pool', 'web', '--older-than', '5'],
      "option '--older-than <duration>' argument '5' is invalid. Give a duration with its unit, such as 5s or 5m.",
    ],
    [
      ['machine-types', 'update', '--which-matches-glob', '*', '--restart-now', '--deadline', '5'],
      "option '--deadline <duration>' argument '5' is invalid. Give a duration with its unit, such as 5s or 5m.",
    ],
    [['apply'], 'which manifests? Give -f FILE, a folder, or -'],
    [['apply', '--filenames', 'x'], "unknown option '--filenames'; did you mean --filename?"],
    [
      ['apply', '-f', 'x', '--dry-run=maybe'],
      "option '--dry-run[=client|server]' argument 'maybe' is invalid. Give none, client or server.",
    ],
    [
      ['status', 'pools', '--cluster', 'A b'],
      "option '--cluster <name>' argument 'A b' is invalid. Give lower-case letters, digits, - and ., with a letter or digit at both ends.",
    ],
  ])('%j', async (args, sentence) => {
    expect(await droverHere(args)).toMatchObject({ code: 2, stdout: '', stderr: `error: ${sentence}\n` });
  });
});

// Concurrent, because they wait for servers that do not answer.
describe.concurrent('a failure has exit code 1 and one sentence', () => {
  test.each([
    [
      ['status', 'pools'],
      /^error: no cluster to talk to: give --kubeconfig or KUBECONFIG, or start the embedded stack with `drover dev`\n$/,
    ],
    [['status', 'pools', '--kubeconfig', '/nonexistent'], /^error: kubeconfig \/nonexistent: no such file; [^\n]+\n$/],
    [['status', 'pools', '--state', '/nonexistent'], /^error: no embedded stack runs in \/nonexistent; [^\n]+\n$/],
    [['apply', '-f', '/nonexistent.yaml'], /^error: \/nonexistent.yaml: no such file or folder\n$/],
  ])('%j', async (args, stderr) => {
    expect(await droverHere(args)).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: expect.stringMatching(stderr) as string,
    });
  });

  test.each([[['dev']], [['dev', '--detach']]])(
    '%j with a missing file of CRDs leaves no state folder',
    async (words) => {
      const state = join(folder(), 'state');
      const { code, stderr } = await drover([...words, '--state', state, '--kubevirt-crds', '/nosuch']);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: "error: /nosuch can't be read as CustomResourceDefinitions: no such file\n",
      });
      expect(existsSync(state)).toBe(false);
    },
  );

  test.each([[['dev']], [['dev', '--detach']]])('%j with an impossible state folder', async (words) => {
    const { code, stderr } = await drover([...words, '--state', '/dev/null/state']);
    const sentence = "error: the state folder /dev/null/state can't be written (ENOTDIR); give another with --state\n";
    expect({ code, stderr }).toEqual({ code: 1, stderr: sentence });
  });

  test('an unreachable API server', async () => {
    const kubeconfig = join(folder(), 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor('https://127.0.0.1:1')));
    const { code, stderr } = await droverHere(['status', 'pools', '--kubeconfig', kubeconfig]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: the Kubernetes API server does not answer: .*127\.0\.0\.1:1.*\n$/);
  });

  test('a server that does not speak TLS', async () => {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const kubeconfig = join(folder(), 'kubeconfig');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(url)));
    const { code, stderr } = await droverHere(['status', 'pools', '--kubeconfig', kubeconfig]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: [^\n]*: what answers there does not speak TLS\n$/);
  });

  test.each([
    [429, 'storage is (re)initializing', 'cannot serve the request now (429): storage is (re)initializing'],
    [
      503,
      'the server is currently unable to handle the request',
      'cannot serve the request now (503): the server is currently unable to handle the request',
    ],
    [401, 'Unauthorized', 'rejected these credentials; use others with --kubeconfig or --context'],
  ])('if the API server answers %i', async (status, message, sentence) => {
    const server = createServer((_request, response) =>
      response.writeHead(status).end(JSON.stringify({ kind: 'Status', message })),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const kubeconfig = join(folder(), 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(url)));
    const stderr = `error: the Kubernetes API server at ${url} ${sentence}\n`;
    const outcome = await droverHere(['status', 'pools', '--kubeconfig', kubeconfig]);
    server.close();
    expect(outcome).toEqual({ code: 1, signal: null, stdout: '', stderr });
  });

  test('an unreachable Temporal', async () => {
    const kubeconfig = join(folder(), 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor('https://127.0.0.1:1')));
    const { code, stderr } = await droverHere(['setup', '--kubeconfig', kubeconfig, '--address', '127.0.0.1:1']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: Temporal at 127\.0\.0\.1:1 does not answer \(.*\): start it .*\n$/);
  });

  test('the whole error is shown to a user who looks for the cause', async () => {
    const { code, stderr } = await droverHere(['status', 'pools'], { ...nowhere, DROVER_DEBUG: '1' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\n {4}at .*session\.ts/);
  });
});

describe('an older Node', () => {
  /** A module that makes Node report version 20; the Node that bin.js starts reports its true version. */
  const old =
    'data:text/javascript,' +
    encodeURIComponent(
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } })",
    );
  const runOld = (bin: string, args: string[], env: NodeJS.ProcessEnv = nowhere) =>
    spawn(process.execPath, ['--import', old, bin, ...args], { env });

  test("is replaced by the clone's own, which gets the arguments and gives its output and exit code", async () => {
    const [passed, failed] = await Promise.all([
      outcomeOf(runOld(BIN, ['--version'])),
      outcomeOf(runOld(BIN, ['statu'])),
    ]);
    expect(passed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string, stderr: '' });
    expect(failed).toMatchObject({ code: 2, stderr: "error: unknown command 'statu'; did you mean status?\n" });
  });

  test('passes a signal on, and ends as the other one does', async () => {
    const child = runOld(BIN, ['apply', '-f', '-']);
    const outcome = outcomeOf(child);
    // It waits for its standard input, which leaves time to find the Node that it started.
    await expect.poll(() => childrenOf(child.pid!), { timeout: 20_000 }).not.toHaveLength(0);
    child.kill('SIGTERM');
    expect(await outcome).toMatchObject({ code: null, signal: 'SIGTERM' });
  });

  test('without such a clone says which Node is needed', async () => {
    const root = folder();
    mkdirSync(join(root, 'clients'));
    copyFileSync(BIN, join(root, 'clients/bin.js'));
    writeFileSync(join(root, 'package.json'), '{"type":"module"}');
    const { code, stderr } = await outcomeOf(runOld(join(root, 'clients/bin.js'), ['--version']));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: drover needs Node 22\.19 or newer and this is v[\d.]+: start drover with a newer Node; in a clone on Linux, `npm ci` brings one\n$/,
    );
  });

  test('is found through a link, too, as npx makes it', async () => {
    const link = join(folder(), 'drover');
    symlinkSync(BIN, link);
    expect(await outcomeOf(runOld(link, ['--version']))).toMatchObject({ code: 0 });
  });
});

const folders = mkdtempSync(join(tmpdir(), 'drover-cli-'));
afterAll(() => rmSync(folders, { recursive: true }));
const folder = (): string => mkdtempSync(join(folders, 'one-'));

const kubeconfigFor = (server: string) => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});
