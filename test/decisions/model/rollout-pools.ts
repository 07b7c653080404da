import type { PoolSpec, PoolStatus, RolloutStatus, RolloutStep, VmTemplate } from '../../../api/pool/pool.ts';
import { revisionOf } from '../../../decisions/revisions/hash.ts';
import type { Batch, BatchVm } from '../../../decisions/rollout/batch.ts';
import type { RolloutInput } from '../../../decisions/rollout/context.ts';
import { planRollout, type RolloutPlan } from '../../../decisions/rollout/plan.ts';
import { begun } from '../../../decisions/rollout/state.ts';
import type { VmView } from '../../../decisions/views/vm.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { aPool, aVm, aVmi } from './fleets.ts';

/** Pools in the middle of a rollout from `OLD` to `NEW`, for the tests of rollout decisions. */

export interface TemplateFields {
  runStrategy?: string;
  /** Takes effect only when a VMI starts. */
  cores?: number;
  /** Can be live-updated. */
  sockets?: number;
  /** Does not concern the VMI. */
  color?: string;
  /** The size of the VM's own disk. */
  disk?: string;
}

export const aTemplate = ({
  runStrategy = 'Always',
  cores = 1,
  sockets = 1,
  color = 'red',
  disk,
}: TemplateFields = {}): VmTemplate => ({
  spec: {
    runStrategy,
    ...(disk === undefined
      ? {}
      : {
          dataVolumeTemplates: [
            { metadata: { name: 'root' }, spec: { storage: { resources: { requests: { storage: disk } } } } },
          ],
        }),
    template: { metadata: { labels: { color } }, spec: { domain: { cpu: { cores, sockets } } } },
  },
});

export const OLD_TEMPLATE = aTemplate();
export const NEW_TEMPLATE = aTemplate({ cores: 2 });
export const OLD = revisionOf(OLD_TEMPLATE);
export const NEW = revisionOf(NEW_TEMPLATE);

export const NOW = Date.UTC(2026, 0, 1, 12);
export const at = (ms: number): string => new Date(ms).toISOString();

/** A step that waits for approval, or for what `then` says. */
// oxlint-disable-next-line unicorn/no-thenable
export const aStep = (to: number | string, then: RolloutStep['then'] = { approval: {} }): RolloutStep => ({ to, then });

/** `web-<number>` of the old revision, ready. */
export const old = (number: number, fields: Partial<VmView> = {}): VmView =>
  aVm(`web-${number}`, { revision: OLD, ...fields });
/** An updated VM. */
export const fresh = (number: number, fields: Partial<VmView> = {}): VmView =>
  old(number, { revision: NEW, ...fields });
export const HALTED = { runStrategy: 'Halted', hasVmi: false, ready: false, state: 'Stopped' } as const;
/** The VMI exists, but is not ready. */
export const DOWN = { ready: false, state: 'Starting' } as const;

export const held = (vm: VmView, act: BatchVm['act'] = 'restart', fields: Partial<BatchVm> = {}): BatchVm => ({
  name: vm.name,
  uid: vm.uid,
  act,
  from: OLD,
  wasDown: false,
  ...fields,
});

export const aBatch = (vms: BatchVm[], fields: Partial<Batch> = {}): Batch => ({
  n: 1,
  revision: NEW,
  rollout: NEW,
  vms,
  startedAt: NOW - 10_000,
  ...fields,
});

/** A rollout to `NEW` that began a minute ago. */
export const rolling = (fields: Partial<RolloutStatus> = {}): RolloutStatus => ({
  ...begun(NEW, at(NOW - 60_000)),
  ...fields,
});

export const failure = (
  vm: string,
  fields: Partial<RolloutStatus['failures'][number]> = {},
): RolloutStatus['failures'][number] => ({
  vm,
  why: 'not ready in time',
  at: at(NOW - 5_000),
  ...fields,
});

export interface RolloutFields extends Partial<Omit<RolloutInput, 'pool' | 'templateOf' | 'vmiOf'>> {
  spec?: Partial<PoolSpec>;
  status?: Partial<PoolStatus>;
  /** By VM name; undefined: no VMI. Other VMIs match their VMs. */
  vmis?: Record<string, Partial<VmiView> | undefined>;
  /** The templates kept besides the pool's own; by default, the old one. */
  kept?: VmTemplate[];
  deleted?: boolean;
}

export function rolloutInput({
  spec,
  status,
  vms = [],
  vmis = {},
  kept = [OLD_TEMPLATE],
  deleted = false,
  ...fields
}: RolloutFields): RolloutInput {
  const metadata = deleted ? { deletionTimestamp: at(NOW) } : {};
  const pool = {
    ...aPool({ replicas: vms.length, template: NEW_TEMPLATE, ...spec }, metadata),
    status: { replicas: vms.length, currentRevision: OLD, updateRevision: NEW, ...status },
  };
  const templates = new Map([...kept, pool.spec.template].map((template) => [revisionOf(template), template]));
  return {
    pool,
    vms,
    vmiOf: (vm) => (vm.name in vmis ? vmis[vm.name] && aVmi(vm, vmis[vm.name]) : vm.hasVmi ? aVmi(vm) : undefined),
    templateOf: (revision) => templates.get(revision),
    changeFor: () => null,
    strategy: 'LiveUpdate',
    state: rolling(),
    batches: [],
    busy: new Set(),
    evacuating: new Set(),
    isHealed: () => false,
    held: false,
    notBefore: 0,
    burst: 250,
    now: NOW,
    ...fields,
  };
}

export const plan = (fields: RolloutFields): RolloutPlan => planRollout(rolloutInput(fields));
/** Names of the VMs that a plan takes, in its order. */
export const taken = ({ update }: RolloutPlan): string[] => update?.batch.vms.map(({ name }) => name) ?? [];
export const waits = ({ waits: all }: RolloutPlan): string[] => all.map(({ words }) => words);
