import { isDeepStrictEqual } from 'node:util';
import { countOf } from '../../../api/lib/int-or-percent.ts';
import { withDefaults } from '../../../api/pool-defaults.ts';
import type { DisruptedVm, PoolSpec, PoolStatus, RolloutStatus, VmTemplate } from '../../../api/pool/pool.ts';
import {
  isMeantToRun,
  isActive,
  liveVmi,
  maxSurgeOf,
  maxUnavailableOf,
  runsByItself,
} from '../../../decisions/disruption-budget/availability.ts';
import { grantClaims, CLAIM_MS, activeClaims } from '../../../decisions/disruption-budget/claims.ts';
import { healthOf, isLeftAlone } from '../../../decisions/healing/sickness.ts';
import {
  attemptIdOf,
  takenOver,
  withAttemptEnd,
  withSkippedDelay,
  withLostAttempt,
  withRemoval,
  withSkip,
  type AttemptId,
  type HealingState,
  type PlannedAttempt,
  type SickVm,
} from '../../../decisions/healing/state.ts';
import { backoffMs } from '../../../decisions/lib/backoff.ts';
import { windowAt } from '../../../decisions/lib/maintenance-windows.ts';
import type { PoolPlanInput } from '../../../decisions/pool/plan-input.ts';
import { planPool, type PoolPlan } from '../../../decisions/pool/plan.ts';
import type { PoolStep, Target } from '../../../decisions/pool/steps.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { KeptRevision } from '../../../decisions/revisions/retained.ts';
import type { Batch, BatchVm, UpdateOutcome } from '../../../decisions/rollout/batch.ts';
import type { PlannedBatch } from '../../../decisions/rollout/next-batch.ts';
import {
  failuresOfThisWay,
  halted,
  isGoingBack,
  paused,
  promoted,
  resumed,
  withFailures,
} from '../../../decisions/rollout/state.ts';
import { numberOf, vmName } from '../../../decisions/scaling/vm-names.ts';
import type { StoredPool } from '../../../decisions/views/pool.ts';
import { isRegular, isSurge, type MemberRole, type VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { disruptionBetween } from '../../../decisions/vm-update/disruption.ts';
import { updateNeed, type UpdateNeed } from '../../../decisions/vm-update/need.ts';
import { progressOf } from '../../../decisions/vm-update/progress.ts';
import { recheckVm } from '../../../decisions/vm-update/recheck.ts';
import { ModelAttempt } from './attempt.ts';
import { Clock } from './clock.ts';
import { aPool, quiet } from './fleets.ts';
import { isLive, ModelKubeVirt, Snapshot, Refused, type ModelVm } from './kubevirt.ts';

/** An event from outside. `vm` is any number: modulo the number of VMs, it is an index into them. */
export type Happening =
  | { what: 'template'; index: number }
  | { what: 'spec'; spec: Partial<PoolSpec> }
  | { what: 'pause' | 'resume' | 'abort' | 'heal pause' | 'heal resume' }
  | { what: 'promote'; full: boolean }
  | { what: 'stop' | 'start' | 'delete' | 'detach' | 'crash' | 'shut down' | 'stumble'; vm: number }
  /** `heal lose`: a person terminates the workflow of an attempt. `heal cancel`: cancels it. */
  | { what: 'heal now' | 'heal skip' | 'heal lose' | 'heal cancel'; vm: number }
  | { what: 'opt out' | 'snapshot' | 'migrate' | 'pause VMI'; vm: number; on: boolean };

export interface Scenario {
  seed: number;
  /** The first is the pool's initial template. */
  templates: VmTemplate[];
  /** For each template, the probability (0 to 1) that a VMI started from it never becomes ready. */
  failing: number[];
  spec: Omit<PoolSpec, 'template'>;
  strategy: 'Stage' | 'LiveUpdate';
  burst: number;
  /** The maximum staleness of the workers' caches, in milliseconds. */
  lag: number;
  /** Whether workers die in the middle of an activity. */
  deaths: boolean;
  /** `after`: milliseconds since the previous one. */
  happenings: (Happening & { after: number })[];
}

/** The outcome, once nothing more happens by itself. */
export interface Ending {
  plan: PoolPlan;
  turns: number;
  /** How many VMIs drover restarted. */
  restarts: number;
  /** How many VMs were deleted because they were sick, to be recreated. */
  replacements: number;
}

/** Drover did something that it must never do. */
export class Broken extends Error {}

/** The heartbeat timeout after which Temporal retries an activity on another worker. */
const HEARTBEAT_MS = 10_000;
const BEGINNING = Date.UTC(2026, 0, 1);
const LANES = 3;
const TRIES = 8;
const MAX_TURNS = 3_000;
const MAX_MOMENTS = 100_000;

/** How long after the last event a person unblocks healing. */
const PATIENCE_MS = 24 * 3_600_000;

type HealAsk = (healing: HealingState) => HealingState;
type Ask = (rollout: RolloutStatus, steps: number) => RolloutStatus;
interface ResourceVersions {
  vms: number;
  vmis: number;
}

/** A batch's workflow. */
interface Child {
  batch: Batch;
  minReadyMs: number;
  deadlineMs: number;
  minVersions: ResourceVersions;
  outcomes: UpdateOutcome[];
  waiting: readonly BatchVm[];
  superseded: boolean;
  /** Null until the batch waits for its VMs. */
  deadline: number | null;
  snapshot: Snapshot;
  isLooking: boolean;
  hasEnded: boolean;
}

/** One attempt of the activity that updates a batch's VMs. */
interface Attempt {
  child: Child;
  snapshot: Snapshot;
  template: VmTemplate;
  isDead: boolean;
  taken: Set<string>;
  outcomes: UpdateOutcome[];
  queue: BatchVm[];
  lanes: number;
  minVersions: ResourceVersions;
}

/**
 * An in-memory pool with its workflow, its batches and their activities, over a model of KubeVirt. Every call takes
 * time, and other events may come between two calls. The order of operations is that of `workflows/pool/pool.ts`,
 * `workflows/rollout/rollouts.ts`, `workflows/rollout/update-batch.ts`, `activities/rollout/update-vms.ts` and
 * `activities/rollout/await-vms.ts`; the decisions are made by the same code. Throws `Broken` if drover breaks a rule.
 */
export class ModelFleet {
  readonly clock: Clock;
  /** Claimed places in the pool's disruption budget: `status.disruptedVMs`. */
  #claims: DisruptedVm[] = [];
  readonly cluster: ModelKubeVirt;
  readonly #scenario: Scenario;
  readonly #trail: string[] = [];
  readonly #snapshots: Snapshot[];
  readonly #kept = new Map<string, { number: number; template: VmTemplate }>();
  readonly #children = new Set<Child>();
  readonly #creating = new Set<string>();
  readonly #deleting = new Set<string>();
  #seen: ResourceVersions = { vms: 0, vmis: 0 };

  // State of the pool's workflow.
  #rollout: RolloutStatus | null = null;
  #batches: Batch[] = [];
  #notBefore = 0;
  #deferrals = 0;
  #steps = 0;
  #asks: Ask[] = [];
  #healing: HealingState | null = null;
  #healAsks: HealAsk[] = [];
  /** Workflows of attempts to heal VMs by their ids, until they close. */
  readonly #attempts = new Map<string, ModelAttempt>();
  /** Attempts that the pool is cancelling, until they end. */
  readonly #cancelled = new Map<string, AttemptId>();
  #affected = false;
  #isPlanning = false;
  #isNotified = false;
  #waiting = 0;
  #statusLane = false;
  #lastStatus = 0;
  #statusIsDue = false;
  #turns = 0;
  #last: PoolPlan | undefined;
  /** The pool that the last plan was made for. */
  #planned: StoredPool;

  // What an observer knows.
  #restarts = 0;
  #replacements = 0;
  /** How often the template changed, and how often people resumed a rollout. */
  #generation = 0;
  #resumes = 0;
  /**
   * How many VMs failed, by target revision, except VMs that were down before. Reset by a resume and by a new rollout.
   */
  readonly #failures = new Map<string, number>();
  /** VMs that failed in this rollout and were not down before. */
  readonly #broughtDown = new Set<string>();
  readonly #restarted = new Map<string, { generation: number; resumes: number }>();
  /**
   * VMs that drover may take down or has taken down, by name, until they are back. `byItself`: the VM was down before.
   */
  readonly #disrupted = new Map<string, { child: Child; isDown: boolean; byItself: boolean }>();
  #isUndisturbed = true;
  /** Names of the VMs that a person wants left alone. */
  readonly #skipped = new Set<string>();

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    const { seed, templates, failing, spec, strategy, happenings } = scenario;
    this.clock = new Clock(BEGINNING, seed);
    const bad = new Map(templates.map((template, index) => [revisionOf(template), failing[index] ?? 0]));
    const first = templates[0]!;
    this.cluster = new ModelKubeVirt({
      clock: this.clock,
      strategy,
      pool: aPool({ ...spec, template: first }),
      failing: (revision) => (this.#turns === 0 ? 0 : (bad.get(revision) ?? 0)),
    });
    this.#planned = this.cluster.pool;
    this.#snapshots = [new Snapshot(this.cluster), new Snapshot(this.cluster)];
    this.#keep(first);
    for (let number = 1; number <= spec.replicas; number++) this.cluster.create(number, first);
    for (const modelVm of this.cluster.modelVms.values()) if (this.clock.chance() < 0.7) this.cluster.start(modelVm);
    while (this.clock.next());
    this.cluster.onChange = () => this.#changed();
    this.cluster.onStart = (vm, vmi) => this.#started(vm, vmi);
    let at = 0;
    for (const happening of happenings) this.clock.in((at += happening.after), () => this.#happen(happening));
    // Healing waits for a person if too many VMs are sick, or if a person has paused healing or a VMI.
    if (spec.autohealing !== undefined) {
      this.clock.in(at + PATIENCE_MS, () => {
        for (const modelVm of this.cluster.modelVms.values()) this.cluster.pause(modelVm, false);
        this.#askedToHeal(({ paused: _paused, ...state }) => state);
        this.#setSpec({ autohealing: { ...this.cluster.pool.spec.autohealing, maxUnhealthy: '100%' } });
      });
    }
  }

  /** Runs until nothing more happens by itself. */
  run(): Ending {
    try {
      this.#requestTurn();
      for (let moments = 0; this.clock.next(); moments++) if (moments > MAX_MOMENTS) this.#broken('it does not end');
      this.#checkEnd(this.#last!);
      return { plan: this.#last!, turns: this.#turns, restarts: this.#restarts, replacements: this.#replacements };
    } catch (error) {
      if (error instanceof Error) error.message += `\n${this.#trail.slice(-120).join('\n')}`;
      throw error;
    }
  }

  #say(words: () => string): void {
    if (TELLS) this.#trail.push(`${((this.clock.now - BEGINNING) / 1000).toFixed(3)} ${words()}`);
  }

  #broken(words: string): never {
    throw new Broken(words);
  }

  // Events from outside.

  #happen(happening: Happening): void {
    this.#say(() => `-- ${JSON.stringify(happening)}`);
    const { cluster } = this;
    const modelVms = [...cluster.modelVms.values()];
    const modelVm = 'vm' in happening ? modelVms[happening.vm % modelVms.length] : undefined;
    if ('vm' in happening && modelVm === undefined) return;
    if (happening.what !== 'template' && !ASKS.has(happening.what)) this.#isUndisturbed = false;
    // People act on a VM that is being healed, if there is one.
    const healed = this.#healing?.cycles ?? [];
    const name =
      CYCLE_ASKS.has(happening.what) && 'vm' in happening && healed.length > 0
        ? healed[happening.vm % healed.length]!.vm
        : (modelVm?.view.name ?? '');
    switch (happening.what) {
      case 'template': {
        const template = this.#scenario.templates[happening.index % this.#scenario.templates.length]!;
        if (template.spec.runStrategy !== this.cluster.pool.spec.template.spec.runStrategy) this.#isUndisturbed = false;
        if (revisionOf(template) !== revisionOf(this.cluster.pool.spec.template)) {
          this.#generation++;
        }
        return this.#setSpec({ template });
      }
      case 'spec':
        return this.#setSpec(happening.spec);
      case 'pause':
        return this.#asked((rollout) => paused(rollout, { by: 'anna' }, this.#at()));
      case 'resume':
        this.#resumes++;
        this.#forgetFailures();
        return this.#asked((rollout) => resumed(rollout, this.#at()));
      case 'abort':
        return this.#asked((rollout) =>
          rollout.completedAt === undefined ? halted(rollout, 'Aborted', { by: 'anna' }, this.#at()) : rollout,
        );
      case 'promote':
        return this.#asked((rollout, steps) =>
          happening.full || rollout.stepReachedAt !== undefined ? promoted(rollout, steps, happening.full) : rollout,
        );
      case 'heal pause':
        return this.#askedToHeal((state) => ({ ...state, paused: { by: 'anna', at: this.#at() } }));
      case 'heal resume':
        return this.#askedToHeal(({ paused: _paused, ...state }) => state);
      case 'heal now': {
        const cycle = this.#healing?.cycles.find(({ vm }) => vm === name);
        if (cycle !== undefined) this.#toAttempt(cycle, (attempt) => attempt.hurry());
        this.#askedToHeal((state) => withSkippedDelay(state, name));
        this.#skipped.delete(name);
        return;
      }
      case 'heal skip':
        return this.#askedToHeal((state) => withSkip(state, name, 'skipped'));
      case 'heal cancel':
        return this.#attemptOn(name)?.cancel();
      case 'heal lose': {
        const attempt = this.#attemptOn(name);
        if (attempt === undefined) return;
        attempt.terminate();
        this.#attempts.delete(workflowIdOf(attempt.id));
        // The run of the pool's workflow that has begun it learns that its child was terminated.
        if (this.clock.chance() < 0.5)
          this.clock.in(5_000, () => this.#askedToHeal((state) => withLostAttempt(state, attempt.id, 'Unknown')));
        return;
      }
      case 'stop':
        return cluster.stop(modelVm!);
      case 'start':
        return cluster.start(modelVm!);
      case 'delete':
        this.#skipped.delete(name);
        return cluster.deleteVm(modelVm!.view.name, modelVm!.view.uid);
      case 'detach':
        this.#skipped.delete(name);
        return cluster.detach(modelVm!);
      case 'crash':
        return cluster.crash(modelVm!);
      case 'shut down':
        return cluster.shutDown(modelVm!);
      case 'stumble':
        return cluster.stumble(modelVm!, 3_000);
      case 'opt out':
        return cluster.optOut(modelVm!, happening.on);
      case 'snapshot':
        cluster.snapshot(modelVm!, happening.on);
        // A snapshot ends by itself.
        if (happening.on) this.clock.in(20_000, () => cluster.snapshot(modelVm!, false));
        return;
      case 'migrate':
        cluster.migrate(modelVm!, happening.on);
        if (happening.on) this.clock.in(20_000, () => cluster.migrate(modelVm!, false));
        return;
      case 'pause VMI':
        return cluster.pause(modelVm!, happening.on);
    }
  }

  #setSpec(spec: Partial<PoolSpec>): void {
    const { pool } = this.cluster;
    const generation = (pool.metadata.generation ?? 0) + 1;
    this.cluster.pool = { ...pool, metadata: { ...pool.metadata, generation }, spec: { ...pool.spec, ...spec } };
    this.#notify();
  }

  #asked(ask: Ask): void {
    this.#ask(ask);
    this.#requestTurn();
  }

  // The pool's workflow.

  #notify(): void {
    if (this.#isNotified) return;
    this.#isNotified = true;
    this.clock.in(this.clock.between(1, 250), () => {
      this.#isNotified = false;
      // A signal says how new the cache must be.
      this.#requestTurn({ vms: this.cluster.version, vmis: this.cluster.version });
    });
  }

  #requestTurn(minVersions?: ResourceVersions): void {
    if (minVersions !== undefined) this.#seen = later(this.#seen, minVersions);
    this.#affected = true;
    if (!this.#isPlanning) this.#turn();
  }

  #ask(ask: Ask): void {
    if (this.#rollout !== null) this.#rollout = ask(this.#rollout, this.#steps);
    this.#asks.push(ask);
  }

  #turn(): void {
    if (++this.#turns > MAX_TURNS) this.#broken('it does not end');
    this.#isPlanning = true;
    this.#affected = false;
    if (this.#rollout !== null) this.#asks = [];
    if (this.#healing !== null) this.#healAsks = [];
    const snapshot = this.#lookUp(this.#seen);
    const input = this.#input(snapshot);
    this.#planned = input.pool;
    const plan = planPool(input);
    this.#checkPlan(input, plan);
    this.clock.in(this.clock.between(0, 30), () => this.#taken(plan));
  }

  #input(snapshot: Snapshot): PoolPlanInput {
    const { pool } = this.cluster;
    const { uid, name } = pool.metadata;
    return {
      ...quiet,
      pool,
      vms: snapshot.ownedBy(uid),
      vmiOf: snapshot.vmiOf,
      isVmNameTaken: (one) => snapshot.vms.has(one) && snapshot.vms.get(one)!.owner?.uid !== uid,
      revisions: [...this.#kept].map(([revision, { number, template }]): KeptRevision => ({
        name: `${name}-${revision}`,
        revision,
        number,
        template,
      })),
      strategy: this.#scenario.strategy,
      inProgress: {
        creating: [...this.#creating],
        deleting: [...this.#deleting],
        cancelled: [...this.#cancelled.values()].map(({ vm }) => vm),
      },
      rollout: this.#rollout,
      batches: [...this.#batches],
      healing: this.#healing,
      failedVmisOf: (vm) =>
        this.cluster.modelVms.get(vm.name)?.view.uid === vm.uid ? this.cluster.modelVms.get(vm.name)!.failedVmis : [],
      batchesNotBefore: this.#notBefore,
      now: this.clock.now,
      burst: this.#scenario.burst,
      backoffs: {},
    };
  }

  #taken(plan: PoolPlan): void {
    this.#last = plan;
    const { rollout } = plan;
    const isCurrent = this.#asks.length === 0;
    this.#steps = rollout.steps;
    this.#rollout = this.#asks.splice(0).reduce((state, ask) => ask(state, rollout.steps), rollout.state);
    for (const n of rollout.superseded) this.#supersede(n);
    for (const n of rollout.lost) this.#batches = this.#batches.filter((batch) => batch.n !== n);
    for (const step of plan.steps) if (isCurrent || step.kind !== 'update') this.#begin(step);
    this.#heal(plan);
    this.#affected ||= !isCurrent;
    if (plan.status !== null) this.#writeStatus(plan.status);
    else this.#statusIsDue ||= this.#statusLane;
    this.#isPlanning = false;
    if (this.#affected) return this.#turn();
    const turn = (this.#waiting = this.#turns);
    if (plan.wakeAt === null) return;
    this.clock.in(Math.max(plan.wakeAt - this.clock.now, 50), () => {
      if (!this.#isPlanning && this.#waiting === turn && this.#turns === turn) this.#turn();
    });
  }

  #begin(step: PoolStep): void {
    const { cluster, clock } = this;
    switch (step.kind) {
      case 'update':
        return this.#beginBatch(step);
      case 'create':
        return this.#inLane(
          step.numbers.map((number) => vmName('web', number)),
          this.#creating,
          (done) => {
            this.#createVms(step.numbers, step.revision, done, { role: step.role ?? null });
          },
        );
      case 'delete':
        return this.#inLane(
          step.vms.map((vm) => vm.name),
          this.#deleting,
          (done) => {
            if (step.because === 'Surge') return this.#letSurgeGo(step.vms, done);
            for (const { name } of step.vms) this.#skipped.delete(name);
            for (const { name, uid, resourceVersion } of step.vms)
              this.#unlessRefused(() => cluster.deleteVm(name, uid, step.keepDisks ? resourceVersion : undefined));
            clock.in(clock.between(1, 600), done);
          },
        );
      case 'createRevision':
        return clock.in(10, () => {
          this.#keep(cluster.pool.spec.template);
          this.#notify();
        });
      case 'deleteRevisions':
        return clock.in(10, () => {
          const newest = revisionOf(cluster.pool.spec.template);
          for (const name of step.revisions) if (name !== `web-${newest}`) this.#kept.delete(name.slice('web-'.length));
          this.#notify();
        });
      case 'annotateRuns':
        return clock.in(clock.between(10, 50), () => {
          for (const { name, uid } of step.vms) this.#unlessRefused(() => cluster.mark(name, uid));
        });
      case 'halt':
        return this.#inLane(
          step.vms.map((vm) => vm.name),
          this.#deleting,
          (done) => {
            for (const { name, uid } of step.vms) this.#unlessRefused(() => cluster.letLeave(name, uid));
            clock.in(clock.between(1, 600), done);
          },
        );
      case 'evacuate':
      case 'updatePodDisruptionBudget':
      case 'promoteStandby':
      case 'setStandbyState':
      case 'addFinalizer':
      case 'deleteKeptDisks':
      case 'unmarkKeptDisks':
      case 'clearNamedRemovals':
      case 'addLabels':
      case 'removeLabels':
      case 'removeDiskFinalizers':
      case 'endMembershipChange':
      case 'removeFinalizer':
      case 'release':
        this.#broken(`nobody asked for ${step.kind}`);
    }
  }

  #inLane(names: string[], held: Set<string>, act: (done: () => void) => void): void {
    for (const name of names) held.add(name);
    act(() => {
      for (const name of names) held.delete(name);
      this.#requestTurn({ vms: this.cluster.version, vmis: 0 });
    });
  }

  #createVms(
    numbers: readonly number[],
    revision: string,
    done: () => void,
    { halted = [], role = null }: { halted?: readonly number[]; role?: MemberRole | null } = {},
  ): void {
    if (revisionOf(this.cluster.pool.spec.template) === revision) this.#keep(this.cluster.pool.spec.template);
    const template = this.#templateOf(revision);
    const queue = [...numbers];
    const next = (): void => {
      const number = queue.shift();
      if (number === undefined || template === undefined) return done();
      this.#say(() => `create ${number} of ${revision}`);
      const attempt = this.#attemptOn(vmName('web', number));
      // The attempt of a cycle that has ended is cancelled, and may hear of that only after its VM is made.
      if (attempt?.mayBeMade === false && !this.#cancelled.has(namespacedName(attempt.id)))
        this.#broken(`web-${number} is recreated, and the delay of its attempt is not over`);
      this.cluster.create(number, template, halted.includes(number), role);
      const extra = [...this.cluster.modelVms.values()].filter(({ view }) => view.owner !== null && isSurge(view));
      if (role !== null && extra.length > maxSurgeOf(this.#planned))
        this.#broken(`${extra.length} VMs are extra, and ${maxSurgeOf(this.#planned)} may be`);
      this.clock.in(this.clock.between(1, 50), next);
    };
    this.clock.in(this.clock.between(1, 50), next);
  }

  /** Deletes extra VMs as `activities/pool/delete-surge-vm.ts` does. */
  #letSurgeGo(vms: readonly Target[], done: () => void): void {
    const { cluster, clock } = this;
    const snapshot = this.#worker();
    let pause = 0;
    for (const { name, uid } of vms) {
      const modelVm = cluster.modelVms.get(name);
      if (modelVm?.view.uid !== uid || modelVm.view.owner === null || modelVm.view.deleting) continue;
      const { view, vmi } = modelVm;
      if (view.protected || view.optedOut) continue;
      const full = this.#claim(snapshot, view, vmi?.view, 'the pool');
      this.#say(() => `extra ${name} ${full ?? 'goes'}`);
      if (full === null) cluster.deleteVm(name, uid);
      else pause = 2_000;
    }
    clock.in(pause + clock.between(1, 600), done);
  }

  #writeStatus(status: PoolStatus): void {
    const { clock, cluster } = this;
    const tooSoon = this.#creating.size + this.#deleting.size > 0 && clock.now - this.#lastStatus < 500;
    this.#statusIsDue = tooSoon || this.#statusLane;
    if (this.#statusIsDue) return;
    this.#lastStatus = clock.now;
    this.#statusLane = true;
    clock.in(clock.between(1, 100), () => {
      cluster.pool = { ...cluster.pool, status };
      clock.in(clock.between(1, 50), () => {
        this.#statusLane = false;
        if (this.#statusIsDue || this.#isPlanning) this.#requestTurn();
      });
    });
  }

  // Healing.

  #askedToHeal(ask: HealAsk): void {
    if (this.#healing !== null) this.#healing = ask(this.#healing);
    this.#healAsks.push(ask);
    this.#requestTurn();
  }

  /** The attempt to heal this VM whose workflow runs. */
  #attemptOn(name: string): ModelAttempt | undefined {
    return [...this.#attempts.values()].find(({ id, hasEnded }) => id.vm === name && !hasEnded);
  }

  /** Acts on a plan as `workflows/healing/healings.ts` does. */
  #heal({ healing }: PoolPlan): void {
    if (this.#healAsks.length > 0) {
      this.#healing ??= this.#healAsks.reduce((state, ask) => ask(state), takenOver(healing.state));
      this.#affected = true;
      return;
    }
    this.#healing = healing.state;
    for (const { ended } of healing.events) {
      if (ended === undefined) continue;
      this.#say(() => `${ended.vm}: ${ended.end}: ${ended.why}`);
      if (ended.end === 'Skipped') this.#skipped.add(ended.vm);
    }
    for (const id of healing.cancel) this.#cancel(id);
    for (const attempt of healing.begin) this.#beginAttempt(attempt);
  }

  #beginAttempt(attempt: PlannedAttempt): void {
    const { sick, startedAt, isAgain, skipDelay } = attempt;
    const { name: vm, uid } = sick;
    if (!isAgain && this.#isHeld(vm, uid)) this.#broken(`${vm} is healed, and a batch works on it`);
    this.#say(() => `heal ${vm}, replacement ${sick.attempt}${isAgain ? ', again' : ''}: ${sick.why}`);
    if (!isAgain && this.#skipped.has(vm)) this.#broken(`${vm} is healed, and a person has skipped it`);
    const id = { vm, uid, attempt: sick.attempt, startedAt };
    this.clock.in(this.clock.between(1, 50), () => {
      const running = this.#attempts.get(workflowIdOf(id));
      if (running === undefined) this.#attempts.set(workflowIdOf(id), this.#attemptFor(id, attempt));
      else if (isAgain && skipDelay) running.hurry();
      else if (!isAgain) {
        running.cancel();
        this.clock.in(5_000, () => this.#askedToHeal((state) => withLostAttempt(state, id, 'NotBegun')));
      }
    });
  }

  #attemptFor(id: AttemptId, attempt: PlannedAttempt): ModelAttempt {
    return new ModelAttempt({
      clock: this.clock,
      attempt,
      remove: (sick, done) => this.#removeSick(sick, this.clock.now, done),
      isGone: ({ vm, uid }) => this.cluster.modelVms.get(vm)?.view.uid !== uid,
      onWaiting: (removed, done) => this.#heard(done, (state) => withRemoval(state, id, removed)),
      onEnd: (outcome, done) => {
        this.#say(() => `attempt ${id.attempt} on ${id.vm} has ended: ${outcome.end}`);
        this.#heard(done, (state) => {
          this.#cancelled.delete(namespacedName(id));
          return withAttemptEnd(state, id, outcome);
        });
      },
      onClosed: () => void this.#attempts.delete(workflowIdOf(id)),
    });
  }

  #cancel(id: AttemptId): void {
    const attemptId = attemptIdOf(id);
    this.#cancelled.set(namespacedName(id), attemptId);
    const free = (): void => {
      if (this.#cancelled.delete(namespacedName(id))) this.#requestTurn();
    };
    this.#toAttempt(attemptId, (attempt) => attempt.cancel(), free);
    this.clock.in(60_000, free);
  }

  #toAttempt(id: AttemptId, act: (attempt: ModelAttempt) => void, otherwise: () => void = () => {}): void {
    this.clock.in(this.clock.between(1, 50), () => {
      const attempt = this.#attempts.get(workflowIdOf(id));
      if (attempt === undefined) otherwise();
      else act(attempt);
    });
  }

  #heard(done: () => void, ask: HealAsk): void {
    const minVersions = { vms: this.cluster.version, vmis: 0 };
    this.clock.in(this.clock.between(1, 50), () => {
      this.#seen = later(this.#seen, minVersions);
      this.#askedToHeal(ask);
      done();
    });
  }

  /** Removes a sick VM as `activities/healing/replace-vm.ts` does. */
  #removeSick(sick: SickVm, at: number, done: (kept: string | null) => void, tries = 0): void {
    const { cluster, clock } = this;
    const { name, uid } = sick;
    const then = (act: () => void): void => clock.in(clock.between(1, 25), act);
    then(() => {
      const vm = cluster.modelVms.get(name)?.view;
      if (vm === undefined || vm.uid !== uid) return done(null);
      then(() => {
        const running = cluster.modelVms.get(name)?.vmi?.view;
        const vmi = running?.vmUid === uid ? running : undefined;
        const { spec, metadata } = cluster.pool;
        if (vm.owner?.uid !== metadata.uid) return done('it has left the pool');
        if (vm.deleting || vm.removing) return done(null);
        const rules = withDefaults(spec).autohealing;
        if (rules === null) return done('autohealing is off');
        if (isLeftAlone(vm, vmi)) return done('it must not be changed now');
        const health = healthOf({
          vm,
          vmi,
          earlyEnds: sick.earlyEnds,
          failingSince: sick.failingSince ?? null,
          hasRun: vm.notYetRun === null || sick.attempt > 1,
          rules,
          now: Math.max(clock.now, at),
        });
        if (!health.sick) return done('it is no longer sick');
        then(() => {
          const modelVm = cluster.modelVms.get(name);
          if (modelVm?.view.uid === uid && modelVm.view.resourceVersion === vm.resourceVersion)
            this.#checkRemoval(modelVm, sick);
          const keepDisks = rules.preserveStorage ?? sick.holdsData;
          const act = (): void =>
            keepDisks
              ? cluster.letLeave(name, uid, vm.resourceVersion)
              : cluster.deleteVm(name, uid, vm.resourceVersion);
          if (!this.#unlessRefused(act)) return this.#removeSick(sick, at, done, tries + 1);
          this.#say(() => `delete the sick ${name}${keepDisks ? ' and keep its disks' : ''}`);
          this.#replacements++;
          // If a worker dies before it can report, another worker repeats the activity.
          if (this.#scenario.deaths && clock.chance() < 0.3)
            return clock.in(HEARTBEAT_MS, () => this.#removeSick(sick, at, done));
          then(() => done(null));
        });
      });
    });
  }

  #checkRemoval(modelVm: ModelVm, { why }: SickVm): void {
    const { name, uid, ready, optedOut, owner } = modelVm.view;
    if (ready) this.#broken(`${name} is deleted as sick, and is ready`);
    if (modelVm.vmi?.isResuming === true && why.startsWith('it is not ready'))
      this.#broken(`${name} is deleted as sick, and a person has let it go on only now`);
    if (optedOut) this.#broken(`${name} is deleted as sick, and its owner asked not to`);
    if (owner === null) this.#broken(`${name} is deleted as sick, and is not the pool's`);
    if (modelVm.stopped !== null) this.#broken(`${name} is deleted as sick, and a person has stopped it`);
    if (this.#isHeld(name, uid)) this.#broken(`${name} is deleted as sick, and a batch works on it`);
    if (this.cluster.pool.spec.autohealing === undefined)
      this.#broken(`${name} is deleted as sick, and its pool heals none`);
  }

  #beginBatch({ batch: planned, minReadyMs, deadlineMs }: PlannedBatch): void {
    const batch: Batch = { ...planned, startedAt: this.clock.now };
    this.#checkBatch(batch);
    this.#batches = [...this.#batches, batch];
    const child: Child = {
      batch,
      minReadyMs,
      deadlineMs,
      minVersions: this.#seen,
      outcomes: [],
      waiting: batch.vms,
      superseded: false,
      deadline: null,
      snapshot: this.#worker(),
      isLooking: false,
      hasEnded: false,
    };
    this.#children.add(child);
    this.#say(
      () =>
        `batch ${batch.n} to ${batch.revision}: ${batch.vms.map(({ name, act, wasDown }) => `${name} ${act}${wasDown ? ' (down)' : ''}`).join(', ')}`,
    );
    this.clock.in(this.clock.between(5, 80), () => this.#updateVms(child));
  }

  #supersede(n: number): void {
    this.#batches = this.#batches.map((batch) => (batch.n === n ? { ...batch, superseded: true } : batch));
    for (const child of this.#children) {
      if (child.batch.n !== n) continue;
      this.clock.in(this.clock.between(1, 50), () => {
        child.superseded = true;
        if (child.deadline !== null) this.#end(child);
      });
    }
  }

  #forgetFailures(): void {
    this.#failures.clear();
    this.#broughtDown.clear();
  }

  #ended({ batch: { n }, outcomes, minVersions }: Child): void {
    this.#say(
      () =>
        `batch ${n} has ended: ${outcomes.map(({ vm, end, why }) => `${vm} ${end}${why === undefined ? '' : ` (${why})`}`).join(', ')}`,
    );
    const batch = this.#batches.find((one) => one.n === n);
    // In an undo, VMs that the rollout broke don't count as down before.
    const isBack = batch !== undefined && batch.revision !== batch.rollout;
    const failed = outcomes.filter(({ end }) => end === 'Failed').map(({ vm }) => vm);
    const fresh = failed.filter(
      (vm) => batch?.vms.find(({ name }) => name === vm)?.wasDown === false || (isBack && this.#broughtDown.has(vm)),
    );
    for (const vm of fresh) this.#broughtDown.add(vm);
    if (batch !== undefined)
      this.#failures.set(batch.revision, (this.#failures.get(batch.revision) ?? 0) + fresh.length);
    this.#batches = this.#batches.filter((one) => one.n !== n);
    if (outcomes.some(({ end }) => end === 'Deferred')) {
      this.#deferrals = outcomes.every(({ end }) => end === 'Deferred') ? this.#deferrals + 1 : 1;
      this.#notBefore = this.clock.now + backoffMs(this.#deferrals);
    } else this.#deferrals = 0;
    if (batch !== undefined && batch.superseded !== true) {
      const wereDown = new Set(batch.vms.filter(({ wasDown }) => wasDown).map(({ name }) => name));
      const at = this.#at();
      const failures = outcomes
        .filter(({ end }) => end === 'Failed')
        .map(({ vm, why = '' }) => ({ vm, why, at, ...(wereDown.has(vm) ? { wasDown: true as const } : {}) }));
      if (failures.length > 0) this.#ask((rollout) => withFailures(rollout, batch.revision, failures));
    }
    this.#requestTurn(minVersions);
  }

  // The batch's workflow and its activities.

  #updateVms(child: Child): void {
    const { revision, vms } = child.batch;
    const { template: newest } = this.cluster.pool.spec;
    if (revisionOf(newest) === revision) this.#keep(newest);
    const template = this.#templateOf(revision);
    if (template === undefined) {
      this.#settle(
        child,
        vms.map(({ name }) => ({ vm: name, end: 'Deferred', why: 'the template is not kept' })),
      );
      return this.#afterActs(child);
    }
    const snapshot = this.#lookUp(child.minVersions);
    const attempt: Attempt = {
      child,
      snapshot,
      template,
      isDead: false,
      taken: new Set(),
      outcomes: [],
      queue: [...vms],
      lanes: 0,
      minVersions: { vms: 0, vmis: 0 },
    };
    if (this.#scenario.deaths && this.clock.chance() < 0.3) {
      this.clock.in(this.clock.between(0, 120), () => {
        if (child.deadline !== null || attempt.isDead || (attempt.queue.length === 0 && attempt.lanes === 0)) return;
        attempt.isDead = true;
        for (const [name, disrupted] of this.#disrupted)
          if (disrupted.child === child && !disrupted.isDown) this.#disrupted.delete(name);
        this.#say(() => `the worker of batch ${child.batch.n} dies`);
        this.clock.in(HEARTBEAT_MS + this.clock.between(0, 1_000), () => this.#updateVms(child));
      });
    }
    for (let lane = 0; lane < LANES; lane++) this.#nextVm(attempt);
  }

  /** Runs `act` a little later, as if after a call, unless the worker has died meanwhile. */
  #then(attempt: Attempt, act: () => void): void {
    this.clock.in(this.clock.between(0, 25), () => {
      if (!attempt.isDead) act();
    });
  }

  #nextVm(attempt: Attempt): void {
    const held = attempt.queue.shift();
    if (held !== undefined) {
      attempt.lanes++;
      return this.#take(attempt, held, 1);
    }
    if (attempt.lanes > 0 || attempt.isDead) return;
    // The activity is done: from here on, its worker can't die in it.
    attempt.isDead = true;
    const { child } = attempt;
    this.clock.in(this.clock.between(1, 30), () => {
      child.minVersions = later(child.minVersions, attempt.minVersions);
      this.#settle(child, attempt.outcomes);
      this.#afterActs(child);
    });
  }

  #take(attempt: Attempt, held: BatchVm, tries: number): void {
    const { child } = attempt;
    const { revision, rollout, startedAt } = child.batch;
    const done = (outcome: UpdateOutcome | null): void => {
      if (outcome !== null) attempt.outcomes.push(outcome);
      attempt.lanes--;
      this.#nextVm(attempt);
    };
    // The VM and the VMI are read at different moments.
    const vm = this.cluster.modelVms.get(held.name)?.view;
    this.#then(attempt, () => {
      const modelVm = this.cluster.modelVms.get(held.name);
      const vmi = modelVm?.view.uid === held.uid ? modelVm.vmi?.view : undefined;
      const take = recheckVm({ held, revision, rollout, startedAt, vm, vmi, pool: this.cluster.pool });
      if (take.take === 'gone') return done({ vm: held.name, end: 'Gone' });
      if (take.take === 'later') return done({ vm: held.name, end: 'Deferred', why: take.why });
      if (take.take === 'nothing') return done(held.act === 'write' ? { vm: held.name, end: 'Updated' } : null);
      this.#checkTake(vm!, child.batch);
      if (take.disrupts) {
        const full = this.#claim(attempt.snapshot, vm!, vmi, `batch ${child.batch.n}`);
        if (full !== null) return done({ vm: held.name, end: 'Deferred', why: full });
        attempt.taken.add(held.name);
        this.#grant(child, held);
      }
      if (held.act === 'replace') return done(null);
      const again = (): void => {
        if (tries === TRIES) throw new Error(`${held.name} changes all the time`);
        this.#take(attempt, held, tries + 1);
      };
      const restart = (now: VmView): void => {
        if (take.restarts !== null && !this.#unlessRefused(() => this.#restart(attempt, now, take.restarts!)))
          return again();
        if (take.restarts === null) this.#release(held.name);
        if (held.act !== 'write') return done(null);
        const live = liveVmi(vmi);
        if (live !== undefined) this.#labelUnlessRestarted(live, attempt.template);
        done({ vm: held.name, end: 'Updated' });
      };
      if (!take.writes) return this.#then(attempt, () => restart(vm!));
      this.#then(attempt, () => {
        if (!this.#unlessRefused(() => this.#write(attempt, vm!))) return again();
        const written = this.cluster.modelVms.get(held.name)!.view;
        this.#then(attempt, () => restart(written));
      });
    });
  }

  /**
   * Claims a place in the pool's disruption budget as `activities/disruption-budget` does. Returns null, or why there
   * is no place.
   */
  #claim(snapshot: Snapshot, vm: VmView, vmi: VmiView | undefined, by: string): string | null {
    this.#catchUp(snapshot, this.#claims.map(versionsOfVm).reduce(later, { vms: 0, vmis: 0 }));
    const { pool } = this.cluster;
    const status = { ...(pool.status ?? { replicas: 0 }), disruptedVMs: this.#claims };
    // Which extra VMs are there, the API server says.
    const vms = snapshot.ownedBy(pool.metadata.uid).filter((one) => !isSurge(one) || this.#isThere(one));
    const context = { pool: { ...pool, status }, vms, vmiOf: snapshot.vmiOf };
    const { now } = this.clock;
    const standing = activeClaims(context, ({ at }) => Date.parse(at) + CLAIM_MS < now).map(({ claim }) => claim);
    const { claims, answers } = grantClaims(context, standing, [{ vm, vmi, by }], new Date(now).toISOString());
    this.#claims = claims;
    return answers[0]!;
  }

  #isThere({ name, uid }: VmView): boolean {
    const modelVm = this.cluster.modelVms.get(name);
    return modelVm?.view.uid === uid && !modelVm.view.deleting;
  }

  #release(name: string): void {
    this.#claims = this.#claims.filter(({ vm }) => vm !== name);
  }

  #write(attempt: Attempt, read: VmView): void {
    const { cluster } = this;
    const modelVm = cluster.modelVms.get(read.name);
    if (modelVm?.view.optedOut === true && modelVm.view.resourceVersion === read.resourceVersion)
      this.#broken(`${read.name} was written to, and its owner asked not to`);
    const before = modelVm?.view.runStrategy;
    const base = read.revision === null ? undefined : this.#templateOf(read.revision);
    cluster.write(read.name, read, base, attempt.template);
    this.#say(() => `write ${read.name}`);
    attempt.minVersions = later(attempt.minVersions, { vms: cluster.version, vmis: 0 });
    const after = modelVm!.view.runStrategy;
    if (modelVm!.stopped === 'by spec' && after !== 'Halted') {
      if (base?.spec.runStrategy !== 'Halted') this.#broken(`${read.name} was stopped by a person, and is started`);
      // The previous template halted the VM too, and the new one doesn't.
      modelVm!.stopped = null;
    }
    const isHalted = after === 'Halted' && before !== 'Halted' && isLive(modelVm!.vmi);
    if (isHalted && !attempt.taken.has(read.name) && this.#isReady(modelVm!))
      this.#broken(`${read.name} is stopped by a write that asked nobody`);
  }

  #restart(attempt: Attempt, vm: VmView, vmi: VmiView): void {
    const { cluster } = this;
    const { revision } = attempt.child.batch;
    const modelVm = cluster.modelVms.get(vm.name);
    const isDeleted = STARTS_AGAIN.has(vm.runStrategy);
    if (!isDeleted && (vm.changingState || vm.runStrategy === 'Halted')) {
      attempt.minVersions = later(attempt.minVersions, { vms: Number(vm.resourceVersion), vmis: 0 });
      return;
    }
    const wasReady = modelVm !== undefined && this.#isReady(modelVm);
    const hasBegun = isDeleted ? cluster.deleteVmi(vm.name, vmi.uid) : cluster.restart(vm.name);
    if (!hasBegun) return;
    this.#say(() => `restart ${vm.name}`);
    const comesBack =
      modelVm!.view.runStrategy === 'Halted' || !isDeleted || STARTS_AGAIN.has(modelVm!.view.runStrategy);
    if (!comesBack) this.#broken(`${vm.name} is taken down, and nothing starts it again`);
    attempt.minVersions = later(
      attempt.minVersions,
      isDeleted ? { vms: 0, vmis: cluster.version } : { vms: cluster.version, vmis: 0 },
    );
    this.#restarts++;
    if (modelVm!.stopped !== null && !isDeleted) this.#broken(`${vm.name} was stopped by a person, and is restarted`);
    const key = `${vm.uid} ${revision}`;
    const before = this.#restarted.get(key);
    if (before?.generation === this.#generation && before.resumes === this.#resumes)
      this.#broken(`${vm.name} is restarted twice for ${revision}`);
    this.#restarted.set(key, { generation: this.#generation, resumes: this.#resumes });
    const disrupted = this.#disrupted.get(vm.name);
    if (disrupted !== undefined) disrupted.isDown = true;
    else if (wasReady && modelVm.view.owner !== null && isActive(modelVm.view) && modelVm.view.runStrategy !== 'Halted')
      this.#broken(`${vm.name} is restarted, and nobody counts it`);
  }

  /** A VMI that started from another revision than its VM's target must be restarted once more. */
  #started(vm: VmView, vmi: VmiView): void {
    for (const key of this.#restarted.keys())
      if (key.startsWith(`${vm.uid} `) && key !== `${vm.uid} ${vmi.revision}`) this.#restarted.delete(key);
  }

  #labelUnlessRestarted(vmi: VmiView, template: VmTemplate): void {
    const before = vmi.revision === null ? undefined : this.#templateOf(vmi.revision);
    if (before === undefined || disruptionBetween(before, template, this.#scenario.strategy) !== 'None') return;
    this.cluster.label(vmi.name, vmi.uid, revisionOf(template));
  }

  #afterActs(child: Child): void {
    const replaced = child.waiting.filter(({ act }) => act === 'replace');
    if (replaced.length === 0) return this.#beginWait(child);
    child.snapshot = this.#lookUp(child.minVersions);
    for (const { name, uid } of replaced) {
      if (child.snapshot.vms.get(name)?.owner?.uid !== this.cluster.pool.metadata.uid) continue;
      this.#say(() => `replace ${name}`);
      this.#skipped.delete(name);
      const modelVm = this.cluster.modelVms.get(name);
      const wasStopped =
        modelVm?.view.uid === uid &&
        modelVm.stopped === 'by spec' &&
        child.batch.vms.every((held) => held.name !== name || held.halted !== true);
      if (wasStopped && modelVm.stoppedAt < child.batch.startedAt)
        this.#broken(`${name} was stopped by a person, and the VM in its place would run`);
      const disrupted = this.#disrupted.get(name);
      if (disrupted !== undefined) disrupted.isDown = true;
      this.#unlessRefused(() => this.cluster.deleteVm(name, uid));
    }
    const create = (): void => {
      if (replaced.some(({ name, uid }) => this.cluster.modelVms.get(name)?.view.uid === uid))
        return this.clock.in(100, create);
      const made = (): void => {
        child.minVersions = later(child.minVersions, { vms: this.cluster.version, vmis: 0 });
        this.#beginWait(child);
      };
      this.#createVms(numbersOf(replaced), child.batch.revision, made, {
        halted: numbersOf(replaced.filter(({ halted: stays }) => stays === true)),
      });
    };
    this.clock.in(50, create);
  }

  #beginWait(child: Child): void {
    child.deadline = this.clock.now + child.deadlineMs;
    if (child.superseded || child.waiting.length === 0) return this.#end(child);
    child.snapshot = this.#lookUp(child.minVersions);
    this.clock.in(child.deadlineMs, () => this.#look(child));
    this.#look(child);
  }

  #look(child: Child): void {
    if (child.hasEnded || child.deadline === null) return;
    const { cluster, clock } = this;
    const { revision } = child.batch;
    const snapshot = child.snapshot;
    this.#catchUp(snapshot, child.minVersions);
    const template = this.#templateOf(revision);
    if (template === undefined) {
      this.#settle(
        child,
        child.waiting.map(({ name }) => ({ vm: name, end: 'Gone' })),
      );
      return this.#end(child);
    }
    for (const held of child.waiting) {
      const found = snapshot.vms.get(held.name);
      const vm = found?.owner?.uid === cluster.pool.metadata.uid ? found : undefined;
      const standing = progressOf({
        held,
        revision,
        vm,
        vmiOf: snapshot.vmiOf,
        minReadyMs: child.minReadyMs,
        now: clock.now,
      });
      switch (standing.state) {
        case 'well':
          this.#settle(child, [{ vm: held.name, end: 'Updated' }]);
          break;
        case 'gone':
          this.#settle(child, [{ vm: held.name, end: 'Gone' }]);
          break;
        case 'refused':
          this.#settle(child, [{ vm: held.name, end: 'RestartRequired', why: standing.why }]);
          break;
        case 'applied':
          this.#label(snapshot.vmiOf(vm!)!, revision);
          break;
        case 'waiting':
          if (clock.now >= child.deadline) this.#settle(child, [{ vm: held.name, end: 'Failed', why: standing.for }]);
          else if (standing.until !== undefined) this.#lookAgain(child, standing.until - clock.now);
      }
    }
    if (child.waiting.length === 0) this.#end(child);
    else if (this.#scenario.lag > 0) this.#lookAgain(child, this.#scenario.lag);
  }

  #lookAgain(child: Child, ms: number): void {
    if (child.isLooking) return;
    child.isLooking = true;
    this.clock.in(Math.max(ms, 1), () => {
      child.isLooking = false;
      this.#look(child);
    });
  }

  #label(vmi: VmiView, revision: string): void {
    this.clock.in(this.clock.between(1, 20), () => this.cluster.label(vmi.name, vmi.uid, revision));
  }

  #settle(child: Child, outcomes: UpdateOutcome[]): void {
    const names = new Set(outcomes.map(({ vm }) => vm));
    child.outcomes.push(...outcomes);
    child.waiting = child.waiting.filter(({ name }) => !names.has(name));
    for (const name of names) {
      const disrupted = this.#disrupted.get(name);
      if (disrupted?.child === child && !disrupted.isDown) this.#disrupted.delete(name);
    }
  }

  #end(child: Child): void {
    if (child.hasEnded) return;
    this.#settle(
      child,
      child.waiting.map(({ name }) => ({ vm: name, end: 'Superseded' })),
    );
    child.hasEnded = true;
    child.minVersions = later(child.minVersions, { vms: this.cluster.version, vmis: this.cluster.version });
    this.clock.in(this.clock.between(1, 50), () => {
      this.#children.delete(child);
      this.#ended(child);
    });
  }

  // What a worker sees.

  #worker(): Snapshot {
    return this.#snapshots[this.clock.between(0, this.#snapshots.length - 1)]!;
  }

  #lookUp(minVersions: ResourceVersions): Snapshot {
    const snapshot = this.#worker();
    this.#catchUp(snapshot, minVersions);
    return snapshot;
  }

  #catchUp(snapshot: Snapshot, minVersions: ResourceVersions): void {
    const { lag } = this.#scenario;
    snapshot.catchUp('vm', this.clock.now - this.clock.between(0, lag), minVersions.vms);
    snapshot.catchUp('vmi', this.clock.now - this.clock.between(0, lag), minVersions.vmis);
  }

  #changed(): void {
    this.#notify();
    for (const child of this.#children) if (child.deadline !== null && !child.hasEnded) this.#lookAgain(child, 50);
    for (const attempt of this.#attempts.values()) attempt.look();
    this.#watch();
  }

  #keep(template: VmTemplate): void {
    const revision = revisionOf(template);
    const newest = Math.max(0, ...[...this.#kept.values()].map(({ number }) => number));
    const known = this.#kept.get(revision);
    if (known === undefined || known.number < newest) this.#kept.set(revision, { number: newest + 1, template });
  }

  #templateOf(revision: string): VmTemplate | undefined {
    const { template } = this.cluster.pool.spec;
    return this.#kept.get(revision)?.template ?? (revisionOf(template) === revision ? template : undefined);
  }

  #unlessRefused(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      if (error instanceof Refused) return false;
      throw error;
    }
  }

  #at(): string {
    return new Date(this.clock.now).toISOString();
  }

  // What an observer sees.

  #isReady({ vmi }: ModelVm): boolean {
    return vmi?.view.ready === true && !vmi.view.deleting;
  }

  #members(): ModelVm[] {
    return [...this.cluster.modelVms.values()].filter(
      ({ view }) => view.owner !== null && isRegular(view) && isActive(view),
    );
  }

  #surge(): ModelVm[] {
    return [...this.cluster.modelVms.values()].filter(
      ({ view }) => view.owner !== null && isSurge(view) && isActive(view),
    );
  }

  /** How many VMs may be down: one more for each that is extra, and available. */
  #most(): number {
    const { pool } = this.cluster;
    const minReadyMs = (pool.spec.rollout?.minReadySeconds ?? 0) * 1000;
    const { now } = this.clock;
    const availableSurge = this.#surge().filter(
      (modelVm) =>
        this.#isReady(modelVm) &&
        modelVm.requests.length === 0 &&
        (modelVm.vmi?.view.readySince ?? Infinity) + minReadyMs <= now,
    );
    return maxUnavailableOf(pool) + availableSurge.length;
  }

  /** Counts the VMs that should run but don't, and the missing ones. VMs in `more` count as down. */
  #unavailable(more: Iterable<string>): number {
    const { pool } = this.cluster;
    const names = new Set(more);
    const members = this.#members();
    for (const modelVm of members)
      if (isMeantToRun(modelVm.view, modelVm.vmi?.view) && !this.#isReady(modelVm)) names.add(modelVm.view.name);
    const present = new Set(members.map(({ view }) => view.name));
    const absent = [...names].filter((name) => !present.has(name)).length;
    const missing = runsByItself(pool.spec.template) ? Math.max(pool.spec.replicas - present.size - absent, 0) : 0;
    return names.size + missing;
  }

  #forgetThoseBack(): void {
    for (const [name, { child, isDown }] of this.#disrupted) {
      const modelVm = this.cluster.modelVms.get(name);
      const isDone = isDown || modelVm?.vmi?.view.revision === child.batch.revision;
      const isBack = modelVm !== undefined && isDone && modelVm.requests.length === 0 && this.#isReady(modelVm);
      const isOut =
        modelVm !== undefined && (modelVm.view.owner === null || (!isActive(modelVm.view) && !this.#isReplaced(name)));
      if (isOut) this.#disrupted.delete(name);
      // A VM halted by its new template is no longer meant to run, though its VMI takes a moment to stop.
      const isOver = modelVm === undefined ? !this.#isReplaced(name) : !isMeantToRun(modelVm.view, modelVm.vmi?.view);
      if (isBack || isOver) this.#disrupted.delete(name);
    }
  }

  /** Checks at each change that no more VMs are down than allowed, as long as only drover has disrupted any. */
  #watch(): void {
    this.#forgetThoseBack();
    for (const name of this.#skipped)
      if (this.cluster.modelVms.get(name)?.view.ready === true) this.#skipped.delete(name);
    if (!this.#isUndisturbed) return;
    const most = this.#most();
    const count = this.#unavailable([]);
    if (count > most) this.#broken(`${count} are down, and ${most} may be`);
  }

  /** Reports whether a batch holds this VM, or replaces the VM of this name. */
  #isHeld(name: string, uid: string): boolean {
    return [...this.#children].some((child) =>
      child.waiting.some((held) => held.name === name && (held.uid === uid || held.act === 'replace')),
    );
  }

  #isReplaced(name: string): boolean {
    return [...this.#children].some((child) =>
      child.waiting.some((held) => held.name === name && held.act === 'replace'),
    );
  }

  /** Checks that a VM about to be disrupted leaves the pool within its disruption budget. */
  #grant(child: Child, { name }: BatchVm): void {
    this.#forgetThoseBack();
    const modelVm = this.cluster.modelVms.get(name)!;
    const known = this.#disrupted.get(name);
    this.#disrupted.set(name, { child, isDown: false, byItself: known?.byItself ?? !this.#isReady(modelVm) });
    if (known !== undefined || !this.#isReady(modelVm)) return;
    const most = this.#most();
    // With stale caches, only drover's own disruptions can be known.
    const count =
      this.#scenario.lag === 0
        ? this.#unavailable(this.#disrupted.keys())
        : [...this.#disrupted.values()].filter(({ byItself }) => !byItself).length;
    if (count > most) this.#broken(`${name} is taken, and with it ${count} are down or will be, of at most ${most}`);
  }

  #checkTake(read: VmView, { revision, startedAt }: Batch): void {
    const { pool } = this.cluster;
    const { halted: end, paused: pause, revision: told } = pool.status?.rollout ?? {};
    if (pause !== undefined && Date.parse(pause.at) > startedAt) this.#broken(`${read.name} is taken in a pause`);
    if (end !== undefined && told === revisionOf(pool.spec.template) && Date.parse(end.at) > startedAt)
      this.#broken(`${read.name} is taken for ${revision} when that is ${end.kind}`);
    if (read.optedOut) this.#broken(`${read.name} is taken, and its owner asked not to`);
    if (pool.spec.paused === true) this.#broken(`${read.name} is taken while spec.paused is true`);
  }

  #checkPlan(input: PoolPlanInput, plan: PoolPlan): void {
    this.#say(
      () =>
        `plan ${plan.phase}/${plan.rollout.phase}: ${plan.steps.map((step) => step.reason).join('; ') || 'nothing'} [${plan.rollout.waits.map(({ words }) => words).join('; ')}]`,
    );
    const { pool, vms, now } = input;
    const { halted: end, startedAt } = plan.rollout.state;
    // A template change that is reverted before anyone sees it starts no rollout.
    if (startedAt !== this.#last?.rollout.state.startedAt) this.#forgetFailures();
    this.#checkRegressions(input, plan);
    if (end?.by === 'drover' && end.at === new Date(now).toISOString()) {
      const most = withDefaults(pool.spec).rollout.maxFailures;
      const failures =
        this.#failures.get(end.kind === 'UndoFailed' ? plan.rollout.target : plan.rollout.state.revision) ?? 0;
      if (failures <= most) this.#broken(`it is ${end.kind}, and ${failures} have failed`);
    }
    const update = plan.steps.find((step) => step.kind === 'update');
    if (update !== undefined) {
      const { state } = plan.rollout;
      const { rollout } = withDefaults(pool.spec);
      if (pool.spec.paused === true || state.paused !== undefined) this.#broken('a batch begins in a pause');
      if (state.halted !== undefined && state.halted.kind !== 'Undoing')
        this.#broken(`a batch begins after it was ${state.halted.kind}`);
      if (!windowAt(rollout.windows, now).open) this.#broken('a batch begins outside of its windows');
      if (update.batch.vms.length === 0) this.#broken('a batch of nothing');
    }
    if (this.clock.chance() > 0.1) return;
    const other = planPool({ ...input, vms: vms.toReversed(), revisions: input.revisions.toReversed() });
    if (!isDeepStrictEqual(other, plan))
      this.#broken(`another order of the same VMs gives another plan: ${JSON.stringify([plan, other])}`);
    // A plan that is due again at once may have more to report.
    if (update !== undefined || plan.wakeAt === now) return;
    const status = plan.status ?? pool.status;
    const again = planPool({
      ...input,
      pool: { ...pool, ...(status === undefined ? {} : { status }) },
      rollout: plan.rollout.state,
    });
    if (again.status !== null)
      this.#broken(`what was just written is not all: ${JSON.stringify([plan.status, again.status])}`);
  }

  /** Checks failures that no batch reported: each VM must have been down for the progress deadline. */
  #checkRegressions({ pool, rollout, now }: PoolPlanInput, { rollout: { state, target } }: PoolPlan): void {
    const before = rollout ?? pool.status?.rollout;
    const known = new Set(before?.failures.map(({ vm, at }) => `${vm} ${at}`));
    const revision = isGoingBack(before ?? {}) ? target : state.revision;
    const { progressDeadlineSeconds } = withDefaults(pool.spec).rollout;
    const at = new Date(now).toISOString();
    for (const failure of state.failures) {
      if (failure.at !== at || known.has(`${failure.vm} ${at}`)) continue;
      this.#failures.set(revision, (this.#failures.get(revision) ?? 0) + 1);
      this.#broughtDown.add(failure.vm);
      if (this.#scenario.lag > 0) continue;
      const vm = this.cluster.modelVms.get(failure.vm)?.view;
      const since = vm?.notReadySince ?? (vm?.role === 'Surge' ? vm.createdAt : null);
      const isLate = since !== null && since <= now - progressDeadlineSeconds * 1000;
      if (!isLate)
        this.#broken(`${failure.vm} is called failed, and has not been down for ${progressDeadlineSeconds} s`);
    }
  }

  #checkBatch(batch: Batch): void {
    const pool = this.#planned;
    const names = batch.vms.map(({ name }) => name);
    const extra = names.find((name) => this.#surge().some(({ view }) => view.name === name));
    if (extra !== undefined) this.#broken(`${extra} is extra, and in batch ${batch.n}`);
    const uids = new Set(batch.vms.map(({ uid }) => uid));
    const healed = names.find((name) => this.#attemptOn(name) !== undefined);
    if (healed !== undefined) this.#broken(`${healed} is in batch ${batch.n}, and is being healed`);
    for (const child of this.#children) {
      const twice = child.batch.vms.find(
        (held) => uids.has(held.uid) || (held.act === 'replace' && names.includes(held.name)),
      );
      if (twice !== undefined && !child.hasEnded)
        this.#broken(`${twice.name} is in batch ${child.batch.n} and in ${batch.n}`);
    }
    const { rollout, update } = withDefaults(pool.spec);
    const state = this.#rollout!;
    const step = rollout.steps[state.step];
    if (
      update.kind !== 'proactive' ||
      step === undefined ||
      batch.revision !== state.revision ||
      this.#scenario.lag > 0
    )
      return;
    // All VMs had this revision last: steps don't hold back an undo.
    if (batch.revision === this.#last?.rollout.current) return;
    const limit = countOf(step.to, pool.spec.replicas, 1);
    const failed = new Set(state.failures.map(({ vm }) => vm));
    const at = new Set(names);
    const mayStop = !runsByItself(pool.spec.template);
    for (const child of this.#children) {
      if (child.batch.revision !== batch.revision) continue;
      for (const { name } of child.waiting) {
        const modelVm = this.cluster.modelVms.get(name);
        if (
          modelVm !== undefined &&
          modelVm.view.owner !== null &&
          isActive(modelVm.view) &&
          (mayStop || isMeantToRun(modelVm.view, modelVm.vmi?.view))
        )
          at.add(name);
      }
    }
    for (const { view, vmi } of this.#members()) {
      const isOf = view.revision === batch.revision && (mayStop || isMeantToRun(view, vmi?.view));
      if (isOf && !failed.has(view.name) && this.#needOf(view, batch.revision).need !== 'act') at.add(view.name);
    }
    if (at.size > limit) this.#broken(`${at.size} VMs run the new revision or will, before a step to ${limit}`);
  }

  /** Checks at the end that no cycle is left, and that the pool names each sick VM that it may touch. */
  #checkHealed({ healing }: PoolPlan): void {
    const rules = withDefaults(this.cluster.pool.spec).autohealing;
    if (this.#attempts.size > 0 || healing.state.cycles.length > 0)
      this.#broken(`cycles have not ended: ${JSON.stringify(healing.state.cycles)}`);
    if (rules === null) return;
    for (const { view: vm, vmi } of this.#members()) {
      const earlyEnds = healing.state.earlyEnds.find(({ vmUid }) => vmUid === vm.uid)?.count ?? 0;
      const { sick } = healthOf({
        vm,
        vmi: vmi?.view,
        earlyEnds,
        hasRun: vm.notYetRun === null,
        rules,
        now: this.clock.now,
      });
      const isStatusCurrent = healing.notReplaced.some((one) => one.vm === vm.name && one.waitsFor !== undefined);
      if (sick && !isStatusCurrent && !isLeftAlone(vm, vmi?.view))
        this.#broken(`${vm.name} is sick, and nobody heals it or says why`);
    }
  }

  #needOf(vm: VmView, revision: string): UpdateNeed {
    const { update, vmRolloutStrategy } = withDefaults(this.cluster.pool.spec);
    return updateNeed(vm, (one) => this.cluster.modelVms.get(one.name)?.vmi?.view, {
      revision,
      template: this.#templateOf(revision)!,
      templateOf: (one: string) => this.#templateOf(one),
      strategy: vmRolloutStrategy ?? this.#scenario.strategy,
      clusterStrategy: this.#scenario.strategy,
      changeFor: () => null,
      limit: update.kind === 'proactive' ? update.disruption : null,
    });
  }

  #checkEnd(plan: PoolPlan): void {
    const { pool } = this.cluster;
    const snapshot = this.#lookUp({ vms: this.cluster.version, vmis: this.cluster.version });
    snapshot.catchUp('vm', Infinity, 0);
    snapshot.catchUp('vmi', Infinity, 0);
    const input = this.#input(snapshot);
    const last = planPool({ ...input, now: this.clock.now + 1 });
    const idle = last.steps.length === 0 && last.status === null && last.wakeAt === null;
    if (!idle)
      this.#broken(
        `it stands still, and something is to be done: ${JSON.stringify([last.steps, last.status, pool.status, last.wakeAt])}`,
      );
    this.#checkHealed(last);
    const { phase, target, state, waits } = last.rollout;
    if (this.#batches.length > 0 || this.#children.size > 0) this.#broken('a batch has not ended');
    const ofThisWay = failuresOfThisWay(state);
    const failed = new Set(
      ofThisWay
        .filter(({ vm, at }) => (this.cluster.modelVms.get(vm)?.view.createdAt ?? 0) <= Date.parse(at))
        .map(({ vm }) => vm),
    );
    for (const { view } of this.#members()) {
      const isBehind =
        failed.has(view.name) &&
        this.#needOf(view, target).need === 'act' &&
        !this.#restarted.has(`${view.uid} ${target}`);
      // Failures of an undo stay reported after it is aborted, on VMs of the previous revision. An undo needs no
      // restart to bring back a VM whose VMI was already ending.
      const { current } = last.rollout;
      const isOfUndo =
        phase === 'Aborted' &&
        (this.#restarted.has(`${view.uid} ${current}`) ||
          this.cluster.modelVms.get(view.name)?.vmi?.view.revision === current);
      if (isBehind && !isOfUndo) this.#broken(`${view.name} has failed, and was never restarted`);
    }
    const over = phase === 'Complete' || phase === 'Undone' || phase === 'Idle';
    const extra = this.#surge().find(({ view }) => !view.optedOut);
    const isNeeded = phase === 'RollingOut' || phase === 'Undoing' || this.#unavailable([]) >= this.#most();
    if (extra !== undefined && !isNeeded) this.#broken(`it is ${phase}, and ${extra.view.name} is still extra`);
    if (!over) {
      const isHeld =
        ['Paused', 'Failed', 'Aborted'].includes(phase) ||
        waits.some(({ kind, words }) => kind === 'Approval' || (kind === 'Step' && words.endsWith('not ready')));
      const isFull = this.#unavailable([]) >= this.#most();
      const broken = isHeld
        ? undefined
        : this.#members().find(
            (modelVm) =>
              isMeantToRun(modelVm.view, modelVm.vmi?.view) &&
              !this.#isReady(modelVm) &&
              this.#needOf(modelVm.view, target).need === 'act' &&
              !failed.has(modelVm.view.name),
          );
      if (broken !== undefined) this.#broken(`${broken.view.name} is down, would cost nothing, and is not taken`);
      const isLeft = waits.some(({ kind }) => kind === 'Vms');
      if (!isHeld && !isFull && !isLeft)
        this.#broken(`it stands still as ${phase}, and nobody knows why: ${JSON.stringify(waits)}`);
      return;
    }
    if (withDefaults(pool.spec).update.kind !== 'proactive') return;
    for (const { view } of this.#members()) {
      const { need } = this.#needOf(view, target);
      if ((need === 'act' && !failed.has(view.name)) || need === 'later')
        this.#broken(`it is ${phase}, and ${view.name} is not`);
    }
    if (plan.rollout.target !== target) this.#broken('the last plan was for another revision');
  }
}

const ASKS = new Set([
  'pause',
  'resume',
  'abort',
  'promote',
  'heal pause',
  'heal resume',
  'heal now',
  'heal skip',
  'heal lose',
  'heal cancel',
]);
const CYCLE_ASKS = new Set(['heal now', 'heal skip', 'heal lose', 'heal cancel']);
/** Run strategies under which KubeVirt starts a VM again after its VMI is deleted. */
const STARTS_AGAIN = new Set(['Always', 'Once']);
/** Whether to list, with a failure, the events that led to it. */
const TELLS = process.env['MODEL_TELLS'] !== undefined;

const numbersOf = (vms: readonly BatchVm[]): number[] => vms.map(({ name }) => numberOf('web', name)!);
const later = (one: ResourceVersions, other: ResourceVersions): ResourceVersions => ({
  vms: Math.max(one.vms, other.vms),
  vmis: Math.max(one.vmis, other.vmis),
});

const workflowIdOf = ({ vm, attempt }: AttemptId): string => `${vm}/${attempt}`;
const namespacedName = (id: AttemptId): string => `${workflowIdOf(id)} ${id.startedAt}`;

const versionsOfVm = ({ minVersions }: DisruptedVm): ResourceVersions => ({
  vms: Number(minVersions?.vms ?? 0),
  vmis: Number(minVersions?.vmis ?? 0),
});
