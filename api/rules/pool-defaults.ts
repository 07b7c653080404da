import { isDuration } from '../lib/duration.ts';
import type { IntOrPercent } from '../lib/int-or-percent.ts';
import type {
  Autohealing,
  BasePolicy,
  Disruption,
  Drain,
  DriftPolicy,
  LabelSelector,
  MaintenanceWindow,
  NameGeneration,
  OutdatedPods,
  PoolSpec,
  Rollout,
  ScaleInSelectionPolicy,
  ScaleInStrategy,
  SelectionPolicy,
  Standby,
  StandbyState,
  StatePreservation,
  UpdateStrategy,
  VmRolloutStrategy,
} from '../pool/pool.ts';

/** Defaults for what a pool leaves out. Durations are written as in a pool. */
export const DEFAULT_REPLICAS = 1;
export const DEFAULT_MAX_UNAVAILABLE = '25%';
export const DEFAULT_MAX_SURGE = 0;
export const DEFAULT_REVISION_HISTORY_LIMIT = 10;
const DEFAULT_BASE_POLICY: BasePolicy = 'Random';
const DEFAULT_DISRUPTION: Disruption = 'Restart';
const DEFAULT_DRIFT: DriftPolicy = 'Report';
const DEFAULT_OUTDATED_PODS: OutdatedPods = 'Report';
const DEFAULT_STATE_PRESERVATION: StatePreservation = 'Disabled';
const DEFAULT_STANDBY_STATE: StandbyState = 'Stopped';
const DEFAULT_NAME_GENERATION: Required<NameGeneration> = {
  appendPostfixToSecretReferences: false,
  appendPostfixToConfigMapReferences: false,
};
export const DEFAULT_ROLLOUT: Required<Rollout> = {
  steps: [],
  minReadySeconds: 0,
  progressDeadlineSeconds: 600,
  onFailure: 'Pause',
  maxFailures: 0,
  onConfigChange: 'Ignore',
  windows: [],
};
export const DEFAULT_TIME_ZONE = 'UTC';
const DEFAULT_UNHEALTHY_AFTER = { notReady: 'never', unknownNode: 'never' };
export const DEFAULT_HEALING_BACKOFF = { initial: '10s', factor: 2, max: '10m', jitter: 0.1 };
const DEFAULT_AUTOHEALING: HealingRules = {
  startupFailureThreshold: 3,
  minFailingToStartDuration: null,
  unhealthyAfter: DEFAULT_UNHEALTHY_AFTER,
  backoff: DEFAULT_HEALING_BACKOFF,
  maxAttempts: null,
  maxConcurrent: null,
  maxUnhealthy: '40%',
  preserveStorage: null,
};

export const DEFAULT_DRAIN: DrainRules = { method: 'MigrateOrRestart', deadlineSeconds: 1800, windows: [] };

export type DrainRules = Required<Drain>;

export type UpdateRules =
  | { kind: 'unmanaged' }
  | { kind: 'opportunistic' }
  | {
      kind: 'proactive';
      selectionPolicy: Required<SelectionPolicy>;
      disruption: Disruption;
      drift: DriftPolicy;
      outdatedPods: OutdatedPods;
    };

export type ScaleInRules =
  | { kind: 'unmanaged' }
  | { kind: 'opportunistic'; statePreservation: StatePreservation }
  | {
      kind: 'proactive';
      selectionPolicy: Required<SelectionPolicy> & Pick<ScaleInSelectionPolicy, 'spread'>;
      statePreservation: StatePreservation;
      windows: readonly MaintenanceWindow[];
    };

/** `null`: no limit. */
export interface HealingRules {
  startupFailureThreshold: number;
  minFailingToStartDuration: string | null;
  unhealthyAfter: { notReady: string; unknownNode: string };
  backoff: { initial: string; factor: number; max: string; jitter: number };
  maxAttempts: number | null;
  maxConcurrent: IntOrPercent | null;
  maxUnhealthy: IntOrPercent;
  /** `null`: keep the disks only of VMs that have run well before. */
  preserveStorage: boolean | null;
}

/** A pool's spec with all defaults filled in. */
export interface CompletePoolSpec {
  replicas: number;
  template: PoolSpec['template'];
  maxUnavailable: IntOrPercent;
  maxSurge: IntOrPercent;
  nameGeneration: Required<NameGeneration>;
  update: UpdateRules;
  scaleIn: ScaleInRules;
  /** `null`: as configured in the cluster's KubeVirt. */
  vmRolloutStrategy: VmRolloutStrategy | null;
  rollout: Required<Rollout>;
  /** `null`: off. */
  autohealing: HealingRules | null;
  /** `null`: off. */
  drain: DrainRules | null;
  standby: Required<Standby>;
  revisionHistoryLimit: number;
  paused: boolean;
  selector: LabelSelector | null;
}

export const withDefaults = (spec: PoolSpec): CompletePoolSpec => ({
  replicas: spec.replicas ?? DEFAULT_REPLICAS,
  template: spec.template,
  maxUnavailable: spec.maxUnavailable ?? DEFAULT_MAX_UNAVAILABLE,
  maxSurge: spec.maxSurge ?? DEFAULT_MAX_SURGE,
  nameGeneration: { ...DEFAULT_NAME_GENERATION, ...spec.nameGeneration },
  update: updateRules(spec.updateStrategy),
  scaleIn: scaleInRules(spec.scaleInStrategy),
  vmRolloutStrategy: spec.vmRolloutStrategy ?? null,
  rollout: { ...DEFAULT_ROLLOUT, ...spec.rollout },
  autohealing: spec.autohealing === undefined ? null : healingRules(spec.autohealing),
  drain: drainRules(spec),
  standby: standbyRules(spec),
  revisionHistoryLimit: spec.revisionHistoryLimit ?? DEFAULT_REVISION_HISTORY_LIMIT,
  paused: spec.paused ?? false,
  selector: spec.selector ?? null,
});

/** Null if nothing is to be done about evictions. */
export const drainRules = ({ drain }: Pick<PoolSpec, 'drain'>): DrainRules | null =>
  drain === undefined ? null : { ...DEFAULT_DRAIN, ...drain };

/** A pool without `standby` wants none. */
export const standbyRules = ({ standby }: Pick<PoolSpec, 'standby'>): Required<Standby> => ({
  replicas: standby?.replicas ?? 0,
  state: standby?.state ?? DEFAULT_STANDBY_STATE,
});

export function updateRules(strategy: UpdateStrategy = {}): UpdateRules {
  if (strategy.unmanaged !== undefined) return { kind: 'unmanaged' };
  if (strategy.opportunistic !== undefined) return { kind: 'opportunistic' };
  const {
    selectionPolicy,
    disruption = DEFAULT_DISRUPTION,
    drift = DEFAULT_DRIFT,
    outdatedPods = DEFAULT_OUTDATED_PODS,
  } = strategy.proactive ?? {};
  return { kind: 'proactive', selectionPolicy: selection(selectionPolicy), disruption, drift, outdatedPods };
}

export function scaleInRules(strategy: ScaleInStrategy = {}): ScaleInRules {
  if (strategy.unmanaged !== undefined) return { kind: 'unmanaged' };
  if (strategy.opportunistic !== undefined) {
    return {
      kind: 'opportunistic',
      statePreservation: strategy.opportunistic.statePreservation ?? DEFAULT_STATE_PRESERVATION,
    };
  }
  const { selectionPolicy, statePreservation = DEFAULT_STATE_PRESERVATION, windows = [] } = strategy.proactive ?? {};
  return { kind: 'proactive', selectionPolicy: selection(selectionPolicy), statePreservation, windows };
}

/**
 * Fills in the defaults. Ignores durations that are invalid today but were stored by an earlier version: a cycle must
 * not fail because of them.
 */
export function healingRules(autohealing: Autohealing): HealingRules {
  const { minFailingToStartDuration } = autohealing;
  return {
    ...DEFAULT_AUTOHEALING,
    ...autohealing,
    minFailingToStartDuration:
      minFailingToStartDuration !== undefined && isDuration(minFailingToStartDuration)
        ? minFailingToStartDuration
        : null,
    unhealthyAfter: { ...DEFAULT_UNHEALTHY_AFTER, ...readable(autohealing.unhealthyAfter) },
    backoff: { ...DEFAULT_HEALING_BACKOFF, ...readable(autohealing.backoff) },
  };
}

const readable = <T extends object>(given: T = {} as T): Partial<T> =>
  Object.fromEntries(
    Object.entries(given).filter(([, value]) => typeof value !== 'string' || value === 'never' || isDuration(value)),
  ) as Partial<T>;

const selection = <P extends SelectionPolicy>(policy: P = {} as P): P & Required<SelectionPolicy> => ({
  orderedPolicies: [],
  basePolicy: DEFAULT_BASE_POLICY,
  ...policy,
});
