import { REVISION_LABEL } from '../api/labels-and-annotations.ts';
import { countOf } from '../api/lib/int-or-percent.ts';
import type { RolloutStatus } from '../api/pool/pool.ts';
import { VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../api/resources.ts';
import { freePort } from '../test/integration/free-port.ts';
import { ReadinessWatch } from '../test/integration/readiness-watch.ts';
import { Eye } from './lib/eye.ts';
import { CpuUse, eventsOfAll, formatRequests, formatServed, median, requestsOf, servedBy } from './lib/measure.ts';
import { formatProfile, profileOf } from './lib/profile.ts';
import { onStack, workerMain, type Bench } from './lib/stack.ts';

/**
 * Measures how long drover takes to roll a change through running VMs, 25 % at a time: `node bench/rollout.ts [ROUNDS]
 * [VMS] [BOOT]`. The ideal is four times as long as one VM's own restart, measured in the same run.
 *
 * The API server and the simulator work for a while on each restart, whatever requested it: on a small machine they are
 * what is measured. So this also reports how long as many restarts take without drover, and how much CPU each process
 * takes for a VM: for a restart alone, for one that takes up a changed template, which makes KubeVirt write four times
 * more, and for a rollout; what the API server has served to everybody meanwhile, by its own metrics; and in which
 * folders the worker computes, by a profile of one more round.
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
/** Where it can be profiled. */
const INSPECTOR = await freePort();

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

/** Milliseconds that a write of a VM takes, and from its response until the watch reports it. */
async function write({ kube }: Bench, eye: Eye, name: string): Promise<{ ms: number; lag: number }> {
  const revision = String(Math.random());
  const seen = eye.firstVm((_name, _before, after) => after?.revision === revision);
  const began = performance.now();
  await kube.patch(VirtualMachines, { namespace: NAMESPACE, name }, 'merge', {
    metadata: { labels: { [REVISION_LABEL]: revision } },
  });
  const answered = performance.now();
  return { ms: answered - began, lag: (await seen) - answered };
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
  /** The worker's requests to the API server for each VM, and what the API server has served to everybody. */
  requests: string;
  served: string;
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
  const askedBefore = await requestsOf(PORT);
  const servedBefore = await servedBy(bench);
  const use = new CpuUse(bench);
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
  const served = formatServed(servedBefore, await servedBy(bench), VMS);
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
    served,
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
    const eye = new Eye(bench, NAMESPACE);
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
    const servedBefore = await servedBy(bench);
    const use = new CpuUse(bench);
    const together = median([
      await restart(bench, eye, lone),
      await restart(bench, eye, lone),
      await restart(bench, eye, lone),
    ]);
    const alone = use.format(3 * AT_ONCE);
    const servedAlone = formatServed(servedBefore, await servedBy(bench), 3 * AT_ONCE);
    // A rollout is watched in the same way.
    const watch = await ReadinessWatch.start(kube, NAMESPACE);
    const servedMore = await servedBy(bench);
    const updates = new CpuUse(bench);
    const byHand = median([
      await update(bench, eye, lone, 1),
      await update(bench, eye, lone, 2),
      await update(bench, eye, lone, 3),
    ]);
    const updated = updates.format(3 * AT_ONCE);
    const servedUpdated = formatServed(servedMore, await servedBy(bench), 3 * AT_ONCE);
    await watch.stop();
    const writes: { ms: number; lag: number }[] = [];
    for (let count = 0; count < LONE_RESTARTS; count++) writes.push(await write(bench, eye, lone[0]!));
    const bare = median(writes.map(({ ms }) => ms));
    console.log(
      `${VMS} running VMs, maxUnavailable ${MAX_UNAVAILABLE}, boot time ${BOOT}; milliseconds; a write takes ${bare.toFixed(1)}, and the watch lags by ${median(writes.map(({ lag }) => lag)).toFixed(1)}`,
    );
    console.log(
      `one VM's own restart: ${one.toFixed(0)} alone, ${together.toFixed(0)} with ${AT_ONCE} at once; ideal ${(BATCHES * one).toFixed(0)}`,
    );
    console.log(`CPU for each of those ${AT_ONCE}: ${alone}`);
    console.log(`  ${servedAlone}`);
    console.log(`${AT_ONCE} at once with another template, by hand: ${byHand.toFixed(0)}; CPU for each: ${updated}`);
    console.log(`  ${servedUpdated}`);

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
      console.log(`  ${done.served}`);
      await wait(1_000);
    }
    const profile = await profileOf(INSPECTOR, async () => void (await rollOut(bench, eye, names, ROUNDS + 1)));
    console.log(`ms of the worker's main thread for each VM of one more round: ${formatProfile(profile, VMS)}`);
    const wall = median(rounds.map((round) => round.wall));
    const first = median(rounds.map((round) => round.first));
    console.log(
      `median: ratio ${(wall / (BATCHES * one)).toFixed(2)}, ${(wall / (BATCHES * together)).toFixed(2)} against ${AT_ONCE} at once (aim: 1.1 or less), ${(wall / (BATCHES * byHand)).toFixed(2)} against those with another template`,
    );
    console.log(
      `median: first write after ${first.toFixed(0)} ms, as ${(first / bare).toFixed(1)} bare writes (aim: 8 or less)`,
    );
    await eye.stop();
  },
  {
    simulator: true,
    workerEnv: { DROVER_HEALTH_PORT: String(PORT) },
    workerCommand: [`--inspect=127.0.0.1:${INSPECTOR}`, workerMain],
  },
);
