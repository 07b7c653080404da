import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CustomResourceDefinitions } from '../../api/resources.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { findStack } from '../../dev/find-stack.ts';
import { defaultCache } from '../../dev/paths.ts';
import { choosePorts } from '../../dev/process/ports.ts';
import { readStackRecord } from '../../dev/stack-file.ts';
import { startStack } from '../../dev/stack.ts';
import { resolveTools } from '../../dev/tools/resolve.ts';
import { PATIENCE_MS, waitFor } from '../wait-for.ts';
import { ConfigMaps, configMap, createConfigMap, kubeOf, living, pidsOf, SERVERS, stateFolder } from './stacks.ts';

const KEPT = { namespace: 'default', name: 'kept' };
const HERE = { data: { here: 'yes' } };

async function withTemporal<T>({ temporalAddress }: Stack, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address: temporalAddress, connectTimeout: 10_000 });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

const startWorkflow = (stack: Stack, id: string): Promise<unknown> =>
  withTemporal(stack, ({ workflow }) => workflow.start(id, { workflowId: id, taskQueue: 'none' }));
const statusOf = (stack: Stack, id: string): Promise<string> =>
  withTemporal(stack, async ({ workflow }) => (await workflow.getHandle(id).describe()).status.name);

/** Returns the sockets on which a process listens: the inode, and the address as the kernel writes it. */
function listeners(pid: number): string[] {
  const own = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      const link = statOf(`/proc/${pid}/fd/${fd}`);
      return link === undefined ? [] : [String(link)];
    }),
  );
  return ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/${pid}/net/${family}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && own.has(inode!))
      .map(([, local]) => local!.split(':')[0]!),
  );
}

function statOf(file: string): number | undefined {
  try {
    return statSync(file).ino;
  } catch {
    return undefined;
  }
}

const pidsNotedIn = (state: string): number[] => pidsOf(readStackRecord(join(state, 'stack.json'))!);

/** Interrupts a first start while Temporal makes its database. */
async function interruptFirstStart(state: string): Promise<void> {
  const interrupt = new AbortController();
  const looking = setInterval(() => {
    if (existsSync(join(state, 'data', 'temporal.db'))) interrupt.abort(new Error('enough'));
  }, 1);
  await expect(startStack({ state, ...SERVERS, signal: interrupt.signal })).rejects.toThrow('enough');
  clearInterval(looking);
}

/** Interrupts a start when etcd is ready, and expects that it ends what it has started. */
async function expectInterrupted(state: string): Promise<void> {
  const interrupt = new AbortController();
  let pids: number[] = [];
  const onProgress = (line: string): void => {
    if (line !== 'etcd is ready') return;
    pids = pidsNotedIn(state);
    interrupt.abort(new Error('enough'));
  };
  await expect(startStack({ state, ...SERVERS, signal: interrupt.signal, onProgress })).rejects.toThrow('enough');
  expect(pids.length).toBeGreaterThan(0);
  expect(living(pids)).toEqual([]);
}

/** A port of Temporal's that another takes between its choice and its use. */
class TakenPort {
  readonly #flags: string;
  readonly #goOn: string;
  readonly #other = createServer();

  private constructor(state: string) {
    [this.#flags, this.#goOn] = [join(state, 'flags'), join(state, 'go-on')];
  }

  /**
   * Replaces Temporal with a wrapper whose first start records its flags, waits for `taken`, and fails as if a port
   * were taken; later starts run Temporal itself.
   */
  static async ofTemporal(state: string): Promise<TakenPort> {
    const { temporal } = await resolveTools({ cache: defaultCache(), onProgress: () => {} });
    const port = new TakenPort(state);
    const [flags, goOn, wrapper] = [port.#flags, port.#goOn, join(state, 'temporal')];
    const fails = `echo "$@" > ${flags}; while [ ! -e ${goOn} ]; do sleep 0.05; done; echo "bind: address already in use" >&2; exit 1`;
    writeFileSync(wrapper, `#!/bin/sh\n[ -e ${flags} ] && exec ${temporal} "$@"; ${fails}\n`, { mode: 0o755 });
    vi.stubEnv('DROVER_TEMPORAL', wrapper);
    return port;
  }

  /** The flags of the first start. */
  get flags(): string {
    return readFileSync(this.#flags, 'utf8');
  }

  /** Resolves when another has taken the port. */
  async taken(): Promise<void> {
    await waitFor(() => expect(this.flags).toContain('--port='), 60_000);
    this.#other.listen(Number(/--port=(\d+)/.exec(this.flags)![1]), '127.0.0.1');
    await once(this.#other, 'listening');
    writeFileSync(this.#goOn, '');
  }

  free(): void {
    this.#other.close();
    vi.unstubAllEnvs();
  }
}

const fleetsCrd = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'fleets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'fleets', singular: 'fleet', kind: 'Fleet', listKind: 'FleetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const Fleets = { group: 'example.com', version: 'v1', plural: 'fleets', kind: 'Fleet', namespaced: true };

test('a process that does not come up is an error with its log, and nothing is left behind', async () => {
  const state = stateFolder();
  const broken = join(state, 'broken-apiserver');
  writeFileSync(broken, '#!/bin/sh\necho "Error: no such flag" >&2\nexit 3\n', { mode: 0o755 });
  vi.stubEnv('DROVER_KUBE_APISERVER', broken);
  onTestFinished(() => void vi.unstubAllEnvs());
  const pids = new Set<number>();
  const failed = startStack({
    state,
    ephemeral: true,
    ...SERVERS,
    onProgress: () => {
      for (const pid of pidsNotedIn(state)) pids.add(pid);
    },
  });
  await expect(failed).rejects.toThrow(
    /^kube-apiserver ended before it was ready \(exit code 3\); the last lines of .*kube-apiserver\.log:\n {2}Error: no such flag$/,
  );
  expect(pids.size).toBeGreaterThan(0);
  expect(living([...pids])).toEqual([]);
  expect(existsSync(join(state, 'lock'))).toBe(false);
});

// A start takes seconds of CPU: these tests share the stacks that run in one folder, one after another, in this order.
describe('a stack', () => {
  const progress: string[] = [];
  let state: string;
  let stack: Stack;
  beforeAll(async () => {
    state = mkdtempSync(join(tmpdir(), 'drover-stack-'));
    await interruptFirstStart(state);
    expect(findStack(state)).toBeUndefined();
    stack = await startStack({ state, ...SERVERS, onProgress: (line) => void progress.push(line) });
    await createConfigMap(stack, 'kept');
    await startWorkflow(stack, 'kept');
    return async () => {
      await stack.stop();
      rmSync(state, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    };
  });

  test('starts though its first start ended while Temporal made its database', () => {
    expect(stack.processes.map(({ name }) => name).sort()).toEqual(['etcd', 'kube-apiserver', 'temporal']);
    expect(readdirSync(join(state, 'data')).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
  });

  test('is found while it runs', async () => {
    const { kubeconfig, temporalAddress, temporalUi } = stack;
    expect(findStack(state)).toEqual({ state, kubeconfig, temporalAddress, temporalUi, pid: process.pid });
    expect((await fetch(temporalUi)).status).toBe(200);
    expect(readFileSync(join(state, 'env'), 'utf8')).toContain(`export KUBECONFIG='${kubeconfig}'\n`);
  });

  test.runIf(process.platform === 'linux')('listens on 127.0.0.1 only, and etcd on no port at all', () => {
    for (const { name, pid } of stack.processes) {
      const addresses = new Set(listeners(pid));
      expect([name, ...addresses]).toEqual(name === 'etcd' ? ['etcd'] : [name, '0100007F']);
    }
  });

  test('is left alone by a second start in the same folder, which says that one runs', async () => {
    await expect(startStack({ state, ...SERVERS })).rejects.toThrow(
      `a stack runs in ${state} (pid ${process.pid}, Web UI at ${stack.temporalUi})`,
    );
    await kubeOf(stack).create(ConfigMaps, configMap('after-second-start'));
    expect(findStack(state)).toBeDefined();
  });

  test('starts a killed process again, with its data', async () => {
    for (const { name, pid } of stack.processes) {
      stack.kill(name, 'SIGKILL');
      await expect
        .poll(() => progress, { timeout: PATIENCE_MS })
        .toContainEqual(expect.stringMatching(new RegExp(`^${name} is back \\(pid \\d+\\)$`)));
      const ended = `${name} (pid ${pid}) ended (SIGKILL); it starts again in `;
      expect(progress.some((line) => line.startsWith(ended))).toBe(true);
    }
    const kube = kubeOf(stack);
    await expect
      .poll(() => kube.get(ConfigMaps, KEPT).catch(() => undefined), { timeout: PATIENCE_MS })
      .toMatchObject(HERE);
    await kube.create(ConfigMaps, configMap('after-kills'));
    expect(await statusOf(stack, 'kept')).toBe('RUNNING');
    expect(stack.processes).toHaveLength(3);
  });

  test('leaves nothing running when it has stopped', async () => {
    const pids = pidsOf(stack);
    expect(living(pids)).toEqual(pids);
    await stack.stop();
    expect(living(pids)).toEqual([]);
    expect(findStack(state)).toBeUndefined();
    expect(existsSync(join(state, 'lock'))).toBe(false);
  });

  describe('an ephemeral stack after one that was not', () => {
    const prepared: Record<string, string> = {};
    let apiserver: number;
    let temporal: TakenPort;
    let ephemeral: Stack;
    beforeAll(async () => {
      await stack.stop();
      apiserver = (await choosePorts(['apiserver'], {}, {})).apiserver!;
      const crds = join(state, 'crds.json');
      writeFileSync(crds, JSON.stringify({ kind: 'List', items: [fleetsCrd] }));
      temporal = await TakenPort.ofTemporal(state);
      const starting = startStack({
        state,
        ...SERVERS,
        ephemeral: true,
        restarts: false,
        ports: { apiserver },
        kubevirtCrds: crds,
        prepare: async (env) => {
          Object.assign(prepared, env);
          await createConfigMap({ kubeconfig: env['KUBECONFIG']! }, 'prepared');
        },
      });
      await temporal.taken();
      ephemeral = await starting;
      return async () => {
        await ephemeral.stop();
        temporal.free();
      };
    });

    test('starts empty', async () => {
      await expect(kubeOf(ephemeral).get(ConfigMaps, KEPT)).rejects.toThrow('not found');
      await expect(statusOf(ephemeral, 'kept')).rejects.toThrow('kept');
    });

    test('is prepared when the servers are ready, with the environment that clients get', async () => {
      expect(prepared).toEqual(ephemeral.env);
      await kubeOf(ephemeral).get(ConfigMaps, { namespace: 'default', name: 'prepared' });
    });

    test('serves the CRDs that it was given when it is ready', async () => {
      const kube = kubeOf(ephemeral);
      await kube.create(Fleets, { metadata: { name: 'one', namespace: 'default' } });
      expect(await kube.get(CustomResourceDefinitions, { name: fleetsCrd.metadata.name })).toMatchObject({
        spec: { group: 'example.com' },
      });
    });

    test('uses the given port; a port that is in use is named in one sentence, with nothing left behind', async () => {
      expect(readFileSync(ephemeral.kubeconfig, 'utf8')).toContain(`server: https://127.0.0.1:${apiserver}\n`);
      const other = stateFolder();
      await expect(startStack({ state: other, ephemeral: true, ...SERVERS, ports: { apiserver } })).rejects.toThrow(
        `port ${apiserver} on 127.0.0.1 is taken; free it, or give another with --apiserver-port`,
      );
      expect(existsSync(join(other, 'lock'))).toBe(false);
      expect(existsSync(join(other, 'ephemeral'))).toBe(false);
    });

    test('chooses another port if its choice is taken before it is used', async () => {
      expect(temporal.flags).not.toContain(`--port=${ephemeral.temporalAddress.split(':')[1]!}`);
      expect(temporal.flags).toContain(`--ui-port=${ephemeral.temporalUi.split(':').at(-1)}`);
      expect(ephemeral.env['TEMPORAL_ADDRESS']).toBe(ephemeral.temporalAddress);
      await startWorkflow(ephemeral, 'here');
    });

    test('leaves down what is killed or halted, without restarts, until it is asked for', async () => {
      const names = (): string[] => ephemeral.processes.map(({ name }) => name).sort();
      ephemeral.kill('temporal', 'SIGKILL');
      await expect.poll(names, { timeout: PATIENCE_MS }).toEqual(['etcd', 'kube-apiserver']);
      await ephemeral.halt('kube-apiserver');
      expect(names()).toEqual(['etcd']);
      await ephemeral.restart('kube-apiserver');
      await ephemeral.restart('temporal');
      expect(names()).toEqual(['etcd', 'kube-apiserver', 'temporal']);
      await kubeOf(ephemeral).create(ConfigMaps, configMap('lost'));
    });

    test('keeps nothing, and leaves what was kept before: that is there again, at the same addresses', async () => {
      const kubeconfig = readFileSync(ephemeral.kubeconfig, 'utf8');
      await ephemeral.stop();
      expect(existsSync(join(state, 'ephemeral'))).toBe(false);
      // Starts that fail leave what the last run has noted.
      const failed = startStack({ state, ...SERVERS, kubevirtCrds: join(state, 'no-such-file') });
      await expect(failed).rejects.toThrow("no-such-file can't be read as CustomResourceDefinitions");
      await expectInterrupted(state);

      const again = await startStack({ state, ...SERVERS });
      onTestFinished(() => again.stop());
      expect(again.env).toEqual(ephemeral.env);
      expect(again.temporalUi).toBe(ephemeral.temporalUi);
      expect(readFileSync(again.kubeconfig, 'utf8')).toBe(kubeconfig);
      const kube = kubeOf(again);
      expect(await kube.get(ConfigMaps, KEPT)).toMatchObject(HERE);
      await expect(kube.get(ConfigMaps, { namespace: 'default', name: 'lost' })).rejects.toThrow('not found');
      expect(await statusOf(again, 'kept')).toBe('RUNNING');
    });
  });
});
