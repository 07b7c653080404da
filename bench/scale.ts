import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { OWNER_KINDS, type VmOwnerKind } from '../api/owner-kinds.ts';
import { memberFromTemplate, vmFromTemplate, type NewMember } from '../decisions/template/vm-from-template.ts';
import type { StoredSet } from '../decisions/views/owner.ts';
import type { StoredPool } from '../decisions/views/pool.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import { freePort } from '../test/integration/free-port.ts';
import { CONNECTIONS, CpuUse, each, formatServed, median, servedBy } from './lib/measure.ts';
import { formatProfile, profileOf } from './lib/profile.ts';
import { onStack, workerMain, type Bench } from './lib/stack.ts';

/**
 * Measures how long drover takes to create and delete 1,000 members of a pool or replica set, compared with the same
 * plain requests over 64 connections in the same run: `node bench/scale.ts [pool|vmrs|dvmirs] [ROUNDS]`. Both end when
 * the API server has all members, or none. VMs are halted, and nothing starts VMIs. A ratio of 1 would mean that drover
 * costs nothing. A last round says in which folders the worker computes.
 */
const MEMBERS = 1_000;
const NAMESPACE = 'default';
const NAME = 'web';
const [, , KIND = 'pool', ROUNDS = '5'] = process.argv;
/** Where the worker can be profiled. */
const INSPECTOR = await freePort();

interface Scaled {
  kind: VmOwnerKind;
  spec: { replicas: number; template: object; selector?: object };
  /** With which drover deletes its members. `Foreground` takes a garbage collector. */
  propagationPolicy: 'Background' | 'Foreground';
  /** What drover creates for such an owner. */
  memberOf: (owner: object) => NewMember;
}

const devices = { domain: { devices: {}, memory: { guest: '64Mi' } } };
const halted = { runStrategy: 'Halted', template: { spec: devices } };
const ofSet = { replicas: 1, selector: { matchLabels: { app: NAME } } };
const metadata = { labels: { app: NAME } };

const KINDS: Record<string, Scaled> = {
  pool: {
    kind: 'VirtualMachinePool',
    propagationPolicy: 'Background',
    spec: { replicas: 1, template: { spec: halted } },
    memberOf: (pool) => vmFromTemplate(pool as StoredPool, (pool as StoredPool).spec.template, 1),
  },
  vmrs: {
    kind: 'VirtualMachineReplicaSet',
    propagationPolicy: 'Foreground',
    spec: { ...ofSet, template: { metadata, spec: halted } },
    memberOf: (set) => memberFromTemplate('VirtualMachineReplicaSet', set as StoredSet, `${NAME}-1`),
  },
  dvmirs: {
    kind: 'VirtualMachineInstanceReplicaSet',
    propagationPolicy: 'Background',
    spec: { ...ofSet, template: { metadata, spec: devices } },
    memberOf: (set) => memberFromTemplate('VirtualMachineInstanceReplicaSet', set as StoredSet, `${NAME}-1`),
  },
};

const scaled = KINDS[KIND];
if (scaled === undefined) throw new Error(`bench/scale.ts measures ${Object.keys(KINDS).join(', ')}, not ${KIND}`);
const { kind, propagationPolicy, spec, memberOf } = scaled;
const {
  resource: owners,
  members: { resource: members },
} = OWNER_KINDS[kind];

/** The same object as drover creates, but with an owner that drover ignores, and without its labels. */
function asDroverMakesIt(name: string): NewMember {
  const member = memberOf({ metadata: { name: 'bare', namespace: NAMESPACE, uid: randomUUID() }, spec });
  const ownerReferences = member.metadata.ownerReferences.map((owner) => ({ ...owner, kind: 'Nothing' }));
  return { ...member, metadata: { ...member.metadata, name, labels: { app: 'bare' }, ownerReferences } };
}

interface Timed {
  ms: number;
  /** Milliseconds until the first member was made or deleted. */
  first: number;
  /** Of CPU for each member, by process. */
  cpu: string;
  /** What the API server has served to everybody. */
  served: string;
}

/** Measures from the beginning of the act until the API server has exactly that many members. */
async function timed(bench: Bench, count: number, act: () => Promise<unknown>): Promise<Timed> {
  const stop = new AbortController();
  let firstAt: number | undefined;
  const watch = new ListWatch({
    client: bench.kube,
    resource: members,
    view: () => true,
    onChange: () => {
      firstAt ??= performance.now();
      if (watch.size === count) stop.abort();
    },
  });
  await watch.start().ready();
  firstAt = undefined;
  const before = await servedBy(bench);
  const use = new CpuUse(bench);
  const start = performance.now();
  await act();
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  const found = { ms: performance.now() - start, first: firstAt! - start, cpu: use.format(MEMBERS) };
  const served = formatServed(before, await servedBy(bench), MEMBERS);
  await watch.stop();
  return { ...found, served };
}

async function bare(bench: Bench): Promise<{ create: Timed; remove: Timed }> {
  const { kube } = bench;
  const names = Array.from({ length: MEMBERS }, (_, index) => `bare-${index}`);
  const create = await timed(bench, MEMBERS, () => each(names, (name) => kube.create(members, asDroverMakesIt(name))));
  const remove = await timed(bench, 0, () =>
    each(names, (name) => kube.delete(members, { name, namespace: NAMESPACE }, { propagationPolicy })),
  );
  return { create, remove };
}

const scale = (bench: Bench, replicas: number): Promise<Timed> =>
  timed(bench, replicas, () =>
    bench.kube.patch(owners, { namespace: NAMESPACE, name: NAME }, 'merge', { spec: { replicas } }),
  );

/** Resolves when the status shows that drover is done, so that the next measurement starts undisturbed. */
async function settled({ kube }: Bench, replicas: number): Promise<void> {
  for (;;) {
    const owner = await kube.get(owners, { namespace: NAMESPACE, name: NAME });
    if ((owner['status'] as { replicas?: number } | undefined)?.replicas === replicas) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

await onStack(
  async (bench) => {
    await bench.kube.create(owners, { metadata: { name: NAME, namespace: NAMESPACE }, spec });
    await settled(bench, 1);
    await scale(bench, 0);
    const ratios: { out: number[]; in: number[] } = { out: [], in: [] };
    console.log(`${MEMBERS} members of a ${KIND}; bare: ${CONNECTIONS} connections; milliseconds`);
    for (let round = 1; round <= Number(ROUNDS); round++) {
      await settled(bench, 0);
      const { create, remove } = await bare(bench);
      const out = await scale(bench, MEMBERS);
      await settled(bench, MEMBERS);
      const back = await scale(bench, 0);
      const words = { 'bare create': create, 'scale-out': out, 'bare delete': remove, 'scale-in': back };
      const times = Object.entries(words).map(
        ([what, { ms, first }]) => `${what} ${ms.toFixed(0)} (first ${first.toFixed(0)})`,
      );
      const [outRatio, inRatio] = [create.ms / out.ms, remove.ms / back.ms];
      ratios.out.push(outRatio);
      ratios.in.push(inRatio);
      console.log(`round ${round}: ${times.join(', ')}; ratios ${outRatio.toFixed(2)} out, ${inRatio.toFixed(2)} in`);
      for (const [what, { cpu }] of Object.entries(words)) console.log(`  CPU for each, ${what}: ${cpu}`);
      if (round > 1) continue;
      for (const [what, { served }] of Object.entries(words)) console.log(`  ${what}: ${served}`);
    }
    await settled(bench, 0);
    for (const replicas of [MEMBERS, 0]) {
      const profile = await profileOf(INSPECTOR, async () => {
        await scale(bench, replicas);
        await settled(bench, replicas);
      });
      console.log(`ms of the worker's main thread for each, to ${replicas}: ${formatProfile(profile, MEMBERS)}`);
    }
    console.log(
      `median ratio: ${median(ratios.out).toFixed(2)} out, ${median(ratios.in).toFixed(2)} in (aim: 0.85 or more)`,
    );
  },
  {
    simulator: propagationPolicy === 'Foreground',
    workerCommand: [`--inspect=127.0.0.1:${INSPECTOR}`, workerMain],
  },
);
