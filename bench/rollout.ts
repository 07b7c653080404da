import { REVISION_LABEL } from '../api/labels-and-annotations.ts';
import { countOf } from '../api/lib/int-or-percent.ts';
import type { KubeObject, Stored } from '../api/objects.ts';
import type { RolloutStatus } from '../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../api/resources.ts';
import { ListWatch } from '../kubernetes/list-watch.ts';
import { freePort } from '../test/integration/free-port.ts';
import { ReadinessWatch } from '../test/integration/readiness-watch.ts';
import { CpuUse, eventsOfAll, formatRequests, median, requestsOf } from './measure.ts';
import { onStack, type Bench } from './stack.ts';

/**
 * Measures how long drover takes to roll a change through running VMs, 25 % at a time: `node bench/rollout.ts [ROUNDS]
 * [VMS] [BOOT]`. The ideal is four times as long as one VM's own restart, measured in the same run.
 *
 * The API server and the simulator work for a while on each restart, whatever requested it: on a small machine they are
 * what is measured. So this also reports how long as many restarts take without drover, and how much CPU each process
 * takes for a VM: for a restart alone, for one that takes up a changed template, which makes KubeVirt write four times
 * more, and for a rollout.
 */
const VMS = Number(process.argv[3] ?? 200);
const MAX_UNAVAILABLE = '25%';
const BOOT = process.argv[4] ?? '1s';
const ROUNDS = Number(process.argv[2] ?? 3);
const NAMESPACE = 'default';
const AT_ONCE = countOf(MAX_UNAVAILABLE, VMS, 1);
const BATCHES = Math.ceil(VMS / AT_ONCE);
const LONE_RESTARTS = 5;
/** Where the worker serves its metrics. */
const PORT = await freePort();

/** Each round has another grace period: a change that requires a restart. */
const templateOf = (round: number): object => ({
  spec: {
    runStrategy: 'Always',
    template: {
      metadata: { annotations: { 'sim.drover.dev/boot-time': BOOT } },
      spec: { domain: { devices: {}, memory: { guest: '64Mi' } }, terminationGracePeriodSeconds: 30 + round },
    },
  },
});

interface Seen {
  ready: boolean;
  revision: string | undefined;
}
interface Vmi extends Seen {
  uid: string;
}
interface Vm extends Seen {
  /** Whether KubeVirt has seen the newest spec. */
  isObserved: boolean;
}

/** What the API server reports of all VMs and VMIs, over its own connections. */
class Eye {
  readonly vms: ListWatch<KubeObject, Vm>;
  readonly vmis: ListWatch<KubeObject, Vmi>;
  #check: (() => void) | undefined;
  #onVm: ((name: string, before: Vm | undefined, after: Vm | undefined) => void) | undefined;

  constructor({ kube }: Bench) {
    this.vms = new ListWatch<KubeObject, Vm>({
      client: kube,
      resource: VirtualMachines,
      view: vmOf,
      onChange: (key, before, after) => {
        this.#onVm?.(key, before, after);
        this.#check?.();
      },
    });
    this.vmis = new ListWatch<KubeObject, Vmi>({
      client: kube,
      resource: VirtualMachineInstances,
      view: vmiOf,
      onChange: () => this.#check?.(),
    });
  }

  async start(): Promise<void> {
    await Promise.all([this.vms.start().ready(), this.vmis.start().ready()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.vms.stop(), this.vmis.stop()]);
  }

  /** Resolves with the time as soon as `holds` does. */
  until(holds: () => boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (!holds()) return;
        this.#check = undefined;
        resolve(performance.now());
      };
      this.#check();
    });
  }

  /** Resolves with the time of the first VM change for which `isIt` is true. */
  firstVm(isIt: (name: string, before: Vm | undefined, after: Vm | undefined) => boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#onVm = (key, before, after) => {
        if (!isIt(key.slice(key.indexOf('/') + 1), before, after)) return;
        this.#onVm = undefined;
        resolve(performance.now());
      };
    });
  }

  isUp = (name: string): boolean =>
    this.vms.get(`${NAMESPACE}/${name}`)?.ready === true && this.vmis.get(`${NAMESPACE}/${name}`)?.ready === true;
}

function vmOf({ metadata, ...vm }: Stored): Vm {
  const { ready = false, desiredGeneration } = (vm['status'] ?? {}) as { ready?: boolean; desiredGeneration?: number };
  return { ready, revision: metadata.labels?.[REVISION_LABEL], isObserved: desiredGeneration === metadata.generation };
}

function vmiOf({ metadata, ...vmi }: Stored): Vmi {
  const conditions = (vmi['status'] as { conditions?: { type: string; status: string }[] } | undefined)?.conditions;
  const ready =
    metadata.deletionTimestamp === undefined && conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return { uid: metadata.uid, ready, revision: metadata.labels?.[REVISION_LABEL] };
}

/** Restarts these VMs all at once by deleting their VMIs, without drover. Returns milliseconds until all are back. */
async function restart({ kube }: Bench, eye: Eye, names: string[]): Promise<number> {
  const before = new Map(names.map((name) => [name, eye.vmis.get(`${NAMESPACE}/${name}`)!.uid]));
  const start = performance.now();
  await Promise.all(
    names.map((name) =>
      kube.delete(VirtualMachineInstances, { namespace: NAMESPACE, name }, { uid: before.get(name)! }),
    ),
  );
  const end = await eye.until(() =>
    names.every((name) => eye.isUp(name) && eye.vmis.get(`${NAMESPACE}/${name}`)!.uid !== before.get(name)),
  );
  return end - start;
}

/** The same, after each has got another template, as a rollout does by hand. */
async function update(bench: Bench, eye: Eye, names: string[], round: number): Promise<number> {
  const start = performance.now();
  await Promise.all(
    names.map((name) => bench.kube.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', templateOf(round))),
  );
  await eye.until(() => names.every((name) => eye.vms.get(`${NAMESPACE}/${name}`)!.isObserved));
  await restart(bench, eye, names);
  return performance.now() - start;
}

/** Milliseconds from the response to a write until the watch reports it. */
async function lag({ kube }: Bench, eye: Eye, name: string): Promise<number> {
  const revision = String(Math.random());
  const seen = eye.firstVm((_name, _before, after) => after?.revision === revision);
  await kube.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', {
    metadata: { labels: { [REVISION_LABEL]: revision } },
  });
  const answered = performance.now();
  return (await seen) - answered;
}

interface Round {
  /** Milliseconds from the call that changes the template until the last VM is back with the new revision. */
  wall: number;
  /** Milliseconds from that call to the first VM with the new revision. */
  first: number;
  /** Milliseconds from that call until the pool's status reports completion. */
  told: number;
  /** Average part of the disruption budget in use. */
  used: number;
  mostDown: number;
  restarts: number;
  /** Of CPU for each VM, by process. */
  cpu: string;
  /** The worker's requests to the API server for each VM. */
  requests: string;
  /** Events in the histories of all workflows, for each VM. */
  events: number;
}

async function rollOut(bench: Bench, eye: Eye, names: string[], round: number): Promise<Round> {
  const { kube } = bench;
  const watch = await ReadinessWatch.start(kube, NAMESPACE);
  await watch.startRecording();
  const old = eye.vms.get(`${NAMESPACE}/${names[0]}`)!.revision;
  const first = eye.firstVm((name, before, after) => name.startsWith('web-') && before?.revision !== after?.revision);
  const eventsBefore = await eventsOfAll(bench);
  const use = new CpuUse(bench);
  const askedBefore = await requestsOf(PORT);
  const start = performance.now();
  await kube.patch(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' }, 'merge', {
    spec: { template: templateOf(round) },
  });
  const end = await eye.until(() =>
    names.every((name) => eye.isUp(name) && eye.vmis.get(`${NAMESPACE}/${name}`)!.revision !== old),
  );
  while (!(await isSettled(bench))) await wait(20);
  const told = performance.now();
  const cpu = use.format(VMS);
  const requests = formatRequests(askedBefore, await requestsOf(PORT), VMS);
  await watch.caughtUp();
  await watch.stop();
  const restarts = names.reduce((sum, name) => sum + watch.log.restartsOf(name).length, 0);
  const used = watch.log.downtime() / (AT_ONCE * (end - start));
  return {
    wall: end - start,
    first: (await first) - start,
    told: told - start,
    used,
    mostDown: watch.log.mostUnavailable(),
    restarts,
    cpu,
    requests,
    events: ((await eventsOfAll(bench)) - eventsBefore) / VMS,
  };
}

/** Reports whether drover has brought all VMs to the newest revision, and the status says so. */
async function isSettled({ kube }: Bench): Promise<boolean> {
  const { metadata, status } = await kube.get(VirtualMachinePools, { namespace: NAMESPACE, name: 'web' });
  const told = status as {
    observedGeneration?: number;
    readyReplicas?: number;
    currentRevision?: string;
    updateRevision?: string;
    rollout?: RolloutStatus;
  };
  return (
    told.observedGeneration === metadata.generation &&
    told.readyReplicas === VMS &&
    told.currentRevision === told.updateRevision
  );
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

await onStack(
  async (bench) => {
    const { kube } = bench;
    const eye = new Eye(bench);
    await eye.start();
    const names = Array.from({ length: VMS }, (_, index) => `web-${index + 1}`);
    const lone = Array.from({ length: AT_ONCE }, (_, index) => `lone-${index + 1}`);
    await kube.create(VirtualMachinePools, {
      metadata: { name: 'web', namespace: NAMESPACE },
      spec: { replicas: VMS, maxUnavailable: MAX_UNAVAILABLE, template: templateOf(0) },
    });
    await Promise.all(
      lone.map((name) => kube.create(VirtualMachines, { metadata: { namespace: NAMESPACE, name }, ...templateOf(0) })),
    );
    await eye.until(() => [...names, ...lone].every((name) => eye.isUp(name)));
    while (!(await isSettled(bench))) await wait(100);

    const ones: number[] = [];
    for (let count = 0; count < LONE_RESTARTS; count++) ones.push(await restart(bench, eye, [lone[0]!]));
    const one = median(ones);
    const use = new CpuUse(bench);
    const together = median([
      await restart(bench, eye, lone),
      await restart(bench, eye, lone),
      await restart(bench, eye, lone),
    ]);
    const alone = use.format(3 * AT_ONCE);
    // A rollout is watched in the same way.
    const watch = await ReadinessWatch.start(kube, NAMESPACE);
    const updates = new CpuUse(bench);
    const byHand = median([
      await update(bench, eye, lone, 1),
      await update(bench, eye, lone, 2),
      await update(bench, eye, lone, 3),
    ]);
    const updated = updates.format(3 * AT_ONCE);
    await watch.stop();
    const lags: number[] = [];
    for (let count = 0; count < LONE_RESTARTS; count++) lags.push(await lag(bench, eye, lone[0]!));
    console.log(
      `${VMS} running VMs, maxUnavailable ${MAX_UNAVAILABLE}, boot time ${BOOT}; milliseconds; the watch lags by ${median(lags).toFixed(1)}`,
    );
    console.log(
      `one VM's own restart: ${one.toFixed(0)} alone, ${together.toFixed(0)} with ${AT_ONCE} at once; ideal ${(BATCHES * one).toFixed(0)}`,
    );
    console.log(`CPU for each of those ${AT_ONCE}: ${alone}`);
    console.log(`${AT_ONCE} at once with another template, by hand: ${byHand.toFixed(0)}; CPU for each: ${updated}`);

    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const done = await rollOut(bench, eye, names, round);
      rounds.push(done);
      const words = [
        `wall ${done.wall.toFixed(0)}`,
        `first write ${done.first.toFixed(0)}`,
        `told ${done.told.toFixed(0)}`,
      ];
      console.log(
        `round ${round}: ${words.join(', ')}; ratio ${(done.wall / (BATCHES * one)).toFixed(2)}; ${Math.round(done.used * 100)} % of the budget used, most down ${done.mostDown}, restarts ${done.restarts}; ${done.events.toFixed(1)} events of history a VM`,
      );
      console.log(`  CPU for each VM: ${done.cpu}`);
      console.log(`  requests of the worker for each VM: ${done.requests}`);
      await wait(1_000);
    }
    const wall = median(rounds.map((round) => round.wall));
    const first = median(rounds.map((round) => round.first));
    console.log(
      `median: ratio ${(wall / (BATCHES * one)).toFixed(2)}, ${(wall / (BATCHES * together)).toFixed(2)} against ${AT_ONCE} at once (aim: 1.1 or less), ${(wall / (BATCHES * byHand)).toFixed(2)} against those with another template`,
    );
    console.log(`median: first write after ${first.toFixed(0)} ms (aim: 100 or less)`);
    await eye.stop();
  },
  { simulator: true, workerEnv: { DROVER_HEALTH_PORT: String(PORT) } },
);
