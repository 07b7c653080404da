import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Globals } from '../../../clients/cli/globals.ts';
import { Session } from '../../../clients/session/session.ts';
import { pathsOf } from '../../../dev/paths.ts';
import { acquireLock } from '../../../dev/process/lock.ts';
import { identify } from '../../../dev/process/process-identity.ts';
import { writeStackRecord, type Phase } from '../../../dev/stack-file.ts';

const OWN = 'https://own.example:6443/';
const STACKS = 'https://127.0.0.1:20001/';
const TEMPORAL = '127.0.0.1:20002';
const FOREIGN = 'temporal.example:7233';

let root: string;
let state: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'drover-which-'));
  state = join(root, 'state');
  const settings = { HOME: root, DROVER_STATE: state, KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '' };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  for (const name of ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE']) vi.stubEnv(name, '');
  vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  writeKubeconfig(join(root, '.kube', 'config'), 'own', OWN);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(root, { recursive: true });
});

function writeKubeconfig(file: string, name: string, server: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const config = {
    clusters: [{ name, cluster: { server } }],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(file, JSON.stringify(config));
}

/** Writes the files of a stack whose supervisor is this process. */
function aStack(phase: Phase = 'ready'): void {
  const { kubeconfig, stack, lock } = pathsOf(state);
  writeKubeconfig(kubeconfig, 'stack', STACKS);
  acquireLock(lock);
  const supervisor = identify(process.pid)!;
  const ports = { temporal: 20_002, ui: 20_003, apiserver: 20_001, simulator: 20_004 };
  const record = {
    phase,
    supervisor,
    ephemeral: false,
    ports,
    kubeconfig,
    temporalAddress: TEMPORAL,
    temporalUi: '',
    names: [],
    processes: [],
  };
  writeStackRecord(stack, record);
}

const serverFor = async (globals: Partial<Globals> = {}): Promise<string> => {
  const session = new Session({ cluster: 'default', ...globals });
  try {
    return (await session.kube()).server;
  } finally {
    await session.close();
  }
};
const temporalFor = async (globals: Partial<Globals> = {}): Promise<string | undefined> =>
  (await new Session({ cluster: 'default', ...globals }).environment())['TEMPORAL_ADDRESS'] || undefined;

describe('the cluster of a command', () => {
  test("is the stack's while one runs, and otherwise that of ~/.kube/config", async () => {
    expect(await serverFor()).toBe(OWN);
    aStack();
    expect(await serverFor()).toBe(STACKS);
  });

  test("is the stack's too if the address is its Temporal's, however that is written", async () => {
    aStack();
    expect(await serverFor({ address: TEMPORAL })).toBe(STACKS);
    expect(await serverFor({ address: 'localhost:20002' })).toBe(STACKS);
  });

  test.each([
    ['--address', { address: FOREIGN }, {}],
    ['TEMPORAL_ADDRESS', {}, { TEMPORAL_ADDRESS: FOREIGN }],
  ])('is not guessed while a stack runs, and %s is that of another Temporal', async (_by, globals, env) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    expect(await serverFor(globals)).toBe(OWN);
    aStack();
    const words = `which cluster? An embedded stack runs at ${state}, and Temporal ${FOREIGN} is not its own: give --kubeconfig, or --state ${state} for the stack's cluster`;
    await expect(serverFor(globals)).rejects.toThrow(words);
    expect(await serverFor({ ...globals, kubeconfig: join(root, '.kube', 'config') })).toBe(OWN);
    expect(await serverFor({ ...globals, state })).toBe(STACKS);
  });

  test('is reported as missing if a foreign Temporal is given, and no cluster', async () => {
    rmSync(join(root, '.kube'), { recursive: true });
    await expect(serverFor({ address: FOREIGN })).rejects.toThrow(
      'no cluster to talk to: give --kubeconfig or KUBECONFIG in addition to the address of Temporal',
    );
  });

  test.each([
    ['starting', 'not ready yet'],
    ['stopping', 'stopping'],
  ] as const)('is not that of ~/.kube/config while the stack is %s', async (phase, words) => {
    aStack(phase);
    await expect(serverFor()).rejects.toThrow(`the embedded stack at ${state} is ${words}: `);
    expect(await serverFor({ kubeconfig: join(root, '.kube', 'config') })).toBe(OWN);
  });

  test("is the stack's with --state, and --context is one of its contexts", async () => {
    aStack();
    expect(await serverFor({ state, context: 'stack' })).toBe(STACKS);
    await expect(serverFor({ state, context: 'own' })).rejects.toThrow('--context own: not in kubeconfig');
    expect(await serverFor({ context: 'own' })).toBe(OWN);
  });
});

describe('the Temporal of a command', () => {
  test("is the stack's only if the kubeconfig is its own, however that is written", async () => {
    aStack();
    const { kubeconfig } = pathsOf(state);
    expect(await temporalFor()).toBe(TEMPORAL);
    expect(await temporalFor({ kubeconfig })).toBe(TEMPORAL);
    expect(await temporalFor({ kubeconfig: relative(process.cwd(), kubeconfig) })).toBe(TEMPORAL);
    expect(await temporalFor({ kubeconfig: join(root, '.kube', 'config') })).toBeUndefined();
  });
});
