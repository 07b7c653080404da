import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CustomResourceDefinitions } from '../../api/resources.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { findStack } from '../../dev/find-stack.ts';
import { defaultCache } from '../../dev/paths.ts';
import { choosePorts } from '../../dev/process/ports.ts';
import { startStack } from '../../dev/stack.ts';
import { resolveTools } from '../../dev/tools/resolve.ts';
import { ConfigMaps, configMap, kubeOf, living, pidsOf, servers, stateFolder } from './stacks.ts';

async function temporalOf({ temporalAddress }: Stack): Promise<Client> {
  const connection = await Connection.connect({ address: temporalAddress, connectTimeout: 10_000 });
  onTestFinished(() => connection.close());
  return new Client({ connection });
}

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

test('a stack is found while it runs, and nothing of it is left when it has stopped', async () => {
  const state = stateFolder();
  expect(findStack(state)).toBeUndefined();
  const stack = await servers({ state });
  expect(stack.processes.map(({ name }) => name).sort()).toEqual(['etcd', 'kube-apiserver', 'temporal']);
  const pids = pidsOf(stack);
  expect(living(pids)).toEqual(pids);
  const { kubeconfig, temporalAddress, temporalUi } = stack;
  expect(findStack(state)).toEqual({ state, kubeconfig, temporalAddress, temporalUi, pid: process.pid });
  expect((await fetch(temporalUi)).status).toBe(200);
  expect(readFileSync(join(state, 'env'), 'utf8')).toContain(`export KUBECONFIG='${kubeconfig}'\n`);

  await stack.stop();
  expect(living(pids)).toEqual([]);
  expect(findStack(state)).toBeUndefined();
  expect(existsSync(join(state, 'lock'))).toBe(false);
});

test.runIf(process.platform === 'linux')('it listens on 127.0.0.1 only, and etcd on no port at all', async () => {
  const stack = await servers({ ephemeral: true });
  for (const { name, pid } of stack.processes) {
    const addresses = new Set(listeners(pid));
    expect([name, ...addresses]).toEqual(name === 'etcd' ? ['etcd'] : [name, '0100007F']);
  }
});

test('what Kubernetes and Temporal hold is there again after a restart, at the same addresses', async () => {
  const state = stateFolder();
  const first = await servers({ state });
  await kubeOf(first).create(ConfigMaps, configMap('kept'));
  await (await temporalOf(first)).workflow.start('kept', { workflowId: 'kept', taskQueue: 'none' });
  const token = readFileSync(first.kubeconfig, 'utf8');
  await first.stop();

  const second = await servers({ state });
  expect(second.temporalAddress).toBe(first.temporalAddress);
  expect(second.temporalUi).toBe(first.temporalUi);
  expect(readFileSync(second.kubeconfig, 'utf8')).toBe(token);
  expect(await kubeOf(second).get(ConfigMaps, { namespace: 'default', name: 'kept' })).toMatchObject({
    data: { here: 'yes' },
  });
  const description = await (await temporalOf(second)).workflow.getHandle('kept').describe();
  expect(description.status.name).toBe('RUNNING');
});

test('an ephemeral stack starts with nothing, keeps nothing, and leaves what a persistent one has kept', async () => {
  const state = stateFolder();
  const persistent = await servers({ state });
  await kubeOf(persistent).create(ConfigMaps, configMap('kept'));
  await persistent.stop();

  const ephemeral = await servers({ state, ephemeral: true });
  const key = { namespace: 'default', name: 'kept' };
  await expect(kubeOf(ephemeral).get(ConfigMaps, key)).rejects.toThrow('not found');
  await kubeOf(ephemeral).create(ConfigMaps, configMap('lost'));
  await ephemeral.stop();
  expect(existsSync(join(state, 'ephemeral'))).toBe(false);

  const again = await servers({ state });
  const names = (await kubeOf(again).list(ConfigMaps, { namespace: 'default' })).items.map(
    ({ metadata: { name } }) => name,
  );
  expect(names).toContain('kept');
  expect(names).not.toContain('lost');
});

test('a second start in the same folder says that one runs, and leaves it alone', async () => {
  const stack = await servers({ ephemeral: true });
  const second = startStack({ state: stack.state, simulator: false, worker: false });
  await expect(second).rejects.toThrow(
    `a stack runs in ${stack.state} (pid ${process.pid}, Web UI at ${stack.temporalUi})`,
  );
  await kubeOf(stack).create(ConfigMaps, configMap('after'));
  expect(findStack(stack.state)).toBeDefined();
});

test('two stacks run side by side and know nothing of each other', async () => {
  const [one, other] = await Promise.all([servers({ ephemeral: true }), servers({ ephemeral: true })]);
  await kubeOf(one).create(ConfigMaps, configMap('of-one'));
  await expect(kubeOf(other).get(ConfigMaps, { namespace: 'default', name: 'of-one' })).rejects.toThrow('not found');
  await (await temporalOf(one)).workflow.start('of-one', { workflowId: 'of-one', taskQueue: 'none' });
  await expect((await temporalOf(other)).workflow.getHandle('of-one').describe()).rejects.toThrow('of-one');
});

test('a given port is used; one that is taken is a sentence that names it, with nothing left behind', async () => {
  const { apiserver } = await choosePorts(['apiserver'], {}, {});
  const stack = await servers({ ephemeral: true, ports: { apiserver: apiserver! } });
  expect(readFileSync(stack.kubeconfig, 'utf8')).toContain(`server: https://127.0.0.1:${apiserver}\n`);

  const state = stateFolder();
  const second = startStack({
    state,
    ephemeral: true,
    simulator: false,
    worker: false,
    ports: { apiserver: apiserver! },
  });
  await expect(second).rejects.toThrow(
    `port ${apiserver} on 127.0.0.1 is taken; free it, or give another with --apiserver-port`,
  );
  expect(existsSync(join(state, 'lock'))).toBe(false);
  expect(existsSync(join(state, 'ephemeral'))).toBe(false);
});

test('a process that is killed is started again, with what it held', async () => {
  const progress: string[] = [];
  const stack = await servers({ onProgress: (line) => void progress.push(line) });
  const kube = kubeOf(stack);
  await kube.create(ConfigMaps, configMap('kept'));
  await (await temporalOf(stack)).workflow.start('kept', { workflowId: 'kept', taskQueue: 'none' });
  for (const { name, pid } of stack.processes) {
    stack.kill(name, 'SIGKILL');
    await expect
      .poll(() => progress, { timeout: 60_000 })
      .toContainEqual(expect.stringMatching(new RegExp(`^${name} is back \\(pid \\d+\\)$`)));
    expect(progress.some((line) => line.startsWith(`${name} (pid ${pid}) ended (SIGKILL); it starts again in `))).toBe(
      true,
    );
  }
  const read = (): Promise<unknown> =>
    kube.get(ConfigMaps, { namespace: 'default', name: 'kept' }).catch(() => undefined);
  await expect.poll(read, { timeout: 30_000 }).toMatchObject({ data: { here: 'yes' } });
  await kube.create(ConfigMaps, configMap('after'));
  const handle = (await temporalOf(stack)).workflow.getHandle('kept');
  expect((await handle.describe()).status.name).toBe('RUNNING');
  expect(stack.processes).toHaveLength(3);
});

test('without restarts, what is killed or halted stays down until it is asked for', async () => {
  const stack = await servers({ restarts: false });
  const names = (): string[] => stack.processes.map(({ name }) => name).sort();
  stack.kill('temporal', 'SIGKILL');
  await expect.poll(names, { timeout: 20_000 }).toEqual(['etcd', 'kube-apiserver']);
  await stack.halt('kube-apiserver');
  expect(names()).toEqual(['etcd']);
  await stack.restart('kube-apiserver');
  await stack.restart('temporal');
  expect(names()).toEqual(['etcd', 'kube-apiserver', 'temporal']);
  await kubeOf(stack).create(ConfigMaps, configMap('after'));
});

test('a process that does not come up is an error with what it logged, and nothing is left behind', async () => {
  const state = stateFolder();
  const broken = join(state, 'broken-apiserver');
  writeFileSync(broken, '#!/bin/sh\necho "Error: no such flag" >&2\nexit 3\n', { mode: 0o755 });
  vi.stubEnv('DROVER_KUBE_APISERVER', broken);
  onTestFinished(() => void vi.unstubAllEnvs());
  const pids = new Set<number>();
  const failed = startStack({
    state,
    ephemeral: true,
    simulator: false,
    worker: false,
    onProgress: () => {
      const { processes } = JSON.parse(readFileSync(join(state, 'stack.json'), 'utf8')) as {
        processes: { pid: number }[];
      };
      for (const { pid } of processes) pids.add(pid);
    },
  });
  await expect(failed).rejects.toThrow(
    /^kube-apiserver ended before it was ready \(exit code 3\); the last lines of .*kube-apiserver\.log:\n {2}Error: no such flag$/,
  );
  expect(pids.size).toBeGreaterThan(0);
  expect(living([...pids])).toEqual([]);
  expect(existsSync(join(state, 'lock'))).toBe(false);
});

test('a signal ends the start, and what it had started', async () => {
  const state = stateFolder();
  const interrupt = new AbortController();
  let pids: number[] = [];
  const failed = startStack({
    state,
    simulator: false,
    worker: false,
    signal: interrupt.signal,
    onProgress: (line) => {
      if (line !== 'etcd is ready') return;
      const { processes } = JSON.parse(readFileSync(join(state, 'stack.json'), 'utf8')) as {
        processes: { pid: number }[];
      };
      pids = processes.map(({ pid }) => pid);
      interrupt.abort(new Error('enough'));
    },
  });
  await expect(failed).rejects.toThrow('enough');
  expect(pids.length).toBeGreaterThan(0);
  expect(living(pids)).toEqual([]);
  const next = await servers({ state });
  expect(next.processes).toHaveLength(3);
});

test('CRDs that are given are served when the stack is ready', async () => {
  const state = stateFolder();
  const file = join(state, 'crds.json');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'herds.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'herds', singular: 'herd', kind: 'Herd', listKind: 'HerdList' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
  writeFileSync(file, JSON.stringify({ kind: 'List', items: [crd] }));
  const kube = kubeOf(await servers({ state, ephemeral: true, kubevirtCrds: file }));
  const Herds = { group: 'example.com', version: 'v1', plural: 'herds', kind: 'Herd', namespaced: true };
  await kube.create(Herds, { metadata: { name: 'one', namespace: 'default' } });
  expect(await kube.get(CustomResourceDefinitions, { name: 'herds.example.com' })).toMatchObject({
    spec: { group: 'example.com' },
  });
});

test('preparation runs when the servers are ready, with the environment that clients get', async () => {
  let seen: Record<string, string> = {};
  const stack = await servers({
    ephemeral: true,
    prepare: async (env) => {
      seen = env;
      await kubeOf({ kubeconfig: env['KUBECONFIG']! }).create(ConfigMaps, configMap('prepared'));
    },
  });
  expect(seen).toEqual(stack.env);
  await kubeOf(stack).get(ConfigMaps, { namespace: 'default', name: 'prepared' });
});

/**
 * Replaces Temporal with a wrapper whose first start records its flags, waits for `goOn`, and fails as if a port were
 * taken; later starts run Temporal itself.
 */
async function temporalWhosePortIsTaken(state: string): Promise<{ flags: string; goOn: string }> {
  const { temporal } = await resolveTools({ cache: defaultCache(), onProgress: () => {} });
  const [wrapper, flags, goOn] = ['temporal', 'flags', 'go-on'].map((name) => join(state, name)) as [
    string,
    string,
    string,
  ];
  const fails = `echo "$@" > ${flags}; while [ ! -e ${goOn} ]; do sleep 0.05; done; echo "bind: address already in use" >&2; exit 1`;
  writeFileSync(wrapper, `#!/bin/sh\n[ -e ${flags} ] && exec ${temporal} "$@"; ${fails}\n`, { mode: 0o755 });
  vi.stubEnv('DROVER_TEMPORAL', wrapper);
  onTestFinished(() => void vi.unstubAllEnvs());
  return { flags, goOn };
}

test('a port that another takes between its choice and its use is chosen again', async () => {
  const state = stateFolder();
  const { flags, goOn } = await temporalWhosePortIsTaken(state);
  const starting = servers({ state, ephemeral: true });
  await expect.poll(() => existsSync(flags) && readFileSync(flags, 'utf8'), { timeout: 60_000 }).toContain('--port=');
  const first = readFileSync(flags, 'utf8');
  const other = createServer().listen(Number(/--port=(\d+)/.exec(first)![1]), '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  writeFileSync(goOn, '');
  const stack = await starting;
  const port = stack.temporalAddress.split(':')[1]!;
  expect(first).not.toContain(`--port=${port}`);
  expect(first).toContain(`--ui-port=${stack.temporalUi.split(':').at(-1)}`);
  expect(stack.env['TEMPORAL_ADDRESS']).toBe(stack.temporalAddress);
  await (await temporalOf(stack)).workflow.start('here', { workflowId: 'here', taskQueue: 'none' });
});

test('a start that fails early leaves what the last run has noted, and the next one keeps its ports', async () => {
  const state = stateFolder();
  const before = await servers({ state });
  await before.stop();
  const failed = startStack({ state, simulator: false, worker: false, kubevirtCrds: join(state, 'no-such-file') });
  await expect(failed).rejects.toThrow("no-such-file can't be read as CustomResourceDefinitions");
  const after = await servers({ state });
  expect(after.env).toEqual(before.env);
});

test('a first start that ends while Temporal makes its database leaves nothing that stops the next', async () => {
  const state = stateFolder();
  const interrupt = new AbortController();
  const looking = setInterval(() => {
    if (existsSync(join(state, 'data', 'temporal.db'))) interrupt.abort(new Error('enough'));
  }, 1);
  onTestFinished(() => clearInterval(looking));
  await expect(startStack({ state, simulator: false, worker: false, signal: interrupt.signal })).rejects.toThrow(
    'enough',
  );
  const next = await servers({ state });
  expect(next.processes).toHaveLength(3);
  expect(readdirSync(join(state, 'data')).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
});
