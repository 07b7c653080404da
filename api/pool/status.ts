import * as z from 'zod';
import {
  HEALING_REQUEST_ANNOTATION,
  MEMBERSHIP_REQUEST_ANNOTATION,
  ROLLOUT_REQUEST_ANNOTATION,
} from '../labels-and-annotations.ts';
import { CAPS } from '../lib/caps.ts';
import { CheckStatus, StoredContent } from './rollout.ts';
import { Act, count, handledRequests, time } from './text.ts';

/** Kubernetes' condition; `lastTransitionTime` is RFC 3339. */
export const Condition = z.strictObject({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024).exactOptional(),
  message: z.string().max(32_768).exactOptional(),
  lastTransitionTime: z.string().meta({ format: 'date-time' }).exactOptional(),
  observedGeneration: z.int().min(0).exactOptional(),
});
export type Condition = z.infer<typeof Condition>;

/** What a spec wants that leaves its number out. */
export const desiredReplicas = count(
  'The newest spec.replicas that was seen: how many are wanted while the spec leaves it out.',
).exactOptional();

/** State of the newest rollout. It outlives the workflow that leads it: a new run resumes from here. */
export const RolloutStatus = z.strictObject({
  revision: z.string().describe('Revision that is rolled out.'),
  startedAt: time('When drover saw that the template had changed.'),
  completedAt: time('When the last VM that could be updated was updated.').exactOptional(),
  batches: count('Batches begun.'),
  lastBatch: count('Number of the newest batch; numbers continue from one rollout to the next.'),
  inFlight: z
    .array(z.int().min(1))
    .max(CAPS.batches)
    .describe('Numbers of the batches that may act: any other leaves its VMs alone.')
    .exactOptional(),
  step: count('How many of spec.rollout.steps the rollout has passed.'),
  firstAvailableAt: time('When a VM of this revision first became available.').exactOptional(),
  stepReachedAt: time('Since when the rollout has waited at its step.').exactOptional(),
  paused: z
    .strictObject({
      ...Act,
      bySignal: z
        .literal(true)
        .describe(
          'True if a signal to its workflow in Temporal paused it. A signal also ends the pause; `by` is what the sender said.',
        )
        .exactOptional(),
    })
    .describe('Who paused the rollout; spec.paused pauses it, too.')
    .exactOptional(),
  resumedAt: time(
    'When the rollout was last resumed: earlier failures are cleared, and deadlines count from here.',
  ).exactOptional(),
  halted: z
    .strictObject({
      kind: z
        .enum(['Failed', 'Aborted', 'Undoing', 'UndoFailed'])
        .describe(
          'Failed: too many VMs failed. Undoing: for that reason, VMs go back to currentRevision. UndoFailed: they did not come back. Aborted: by a user.',
        ),
      ...Act,
    })
    .describe('Why the rollout starts no more batches.')
    .exactOptional(),
  changed: z
    .strictObject({ what: z.string().max(300).describe('Its kind and name.'), at: time('When it changed.') })
    .describe('The newest Secret or ConfigMap whose change restarts VMs, with rollout.onConfigChange.')
    .exactOptional(),
  failures: z
    .array(
      z.strictObject({
        vm: z.string(),
        message: z.string().max(1024),
        at: time('When.'),
        wasDown: z
          .literal(true)
          .describe('The VM was not ready before either, so its failure says nothing about the new revision.')
          .exactOptional(),
      }),
    )
    .max(CAPS.failures)
    .describe('VMs that were not ready in time, or could not be updated; the newest last.'),
  handledRequests: handledRequests(ROLLOUT_REQUEST_ANNOTATION),
});
export type RolloutStatus = z.infer<typeof RolloutStatus>;

/** State of the healing of a pool's VMs. It outlives the workflow that leads it: a new run resumes from here. */
export const HealingStatus = z.strictObject({
  paused: z.strictObject(Act).describe('Who paused healing.').exactOptional(),
  cycles: z
    .array(
      z.strictObject({
        vm: z.string(),
        uid: z.string().describe('UID of the VM that is replaced.'),
        attempt: count('Number of the replacement, counted since the VM last ran without trouble for a while.'),
        phase: z
          .enum(['Removing', 'Waiting', 'Provisioning'])
          .describe(
            'Removing: the VM, and its disks, are being removed. Waiting: for the delay. Provisioning: the new VM is made, and watched.',
          ),
        message: z.string().max(1024).describe("What is wrong with it, in KubeVirt's words."),
        startedAt: time('When the cycle began.'),
        nextAt: time('When the delay ends.').exactOptional(),
        skipDelay: z.boolean().describe('Whether a user has asked to skip the delay.').exactOptional(),
        skipped: z.string().max(1536).describe('Who wants the VM left as it is: the cycle ends.').exactOptional(),
        onSameDisks: count('How many replacements in a row have kept their disks.').exactOptional(),
        role: z
          .enum(['Standby'])
          .describe('The role of a VM that is not a replica: its successor has the same role.')
          .exactOptional(),
      }),
    )
    .max(CAPS.healingCycles)
    .describe('VMs that are being replaced.'),
  finished: z
    .array(
      z.strictObject({
        vm: z.string(),
        uid: z.string().describe('UID of the VM that the cycle left.'),
        attempts: count('Replacements that it took.'),
        refusals: count('How many times in a row its deletion was refused.').exactOptional(),
        end: z
          .enum(['Healed', 'GivenUp', 'Skipped', 'Left', 'Refused'])
          .describe(
            'Refused: the API server refused to delete the VM, which is tried again. GivenUp: after maxAttempts. Skipped: by a user. Left: the VM is no longer to be healed, or no longer unhealthy.',
          ),
        message: z.string().max(1024),
        at: time('When it ended.'),
      }),
    )
    .max(CAPS.healingEnds)
    .describe(
      'Recently finished cycles: a new cycle of the same VM continues with their delays and attempts, unless enough time has passed.',
    ),
  notReplaced: z
    .array(
      z.strictObject({
        vm: z.string(),
        message: z.string().max(1024).describe('What is wrong with it, or why it is not replaced.'),
        waitsFor: z
          .string()
          .max(1024)
          .describe('What its replacement waits for; absent if it is not to be replaced.')
          .exactOptional(),
      }),
    )
    .max(250)
    .describe('VMs that are not ready and not being replaced. VMs whose replacement waits come first.')
    .exactOptional(),
  notListed: count('How many more VMs are not ready and not being replaced.').exactOptional(),
  vmiPauses: z
    .array(
      z.strictObject({
        vmUid: z.string(),
        endedAt: time('When that ended; absent while it lasts.').exactOptional(),
      }),
    )
    .max(CAPS.vmiPauses)
    .describe(
      'VMs that were left alone while they were not ready: the time until that ended does not count as unhealthy.',
    )
    .exactOptional(),
  leftAlone: z
    .strictObject({ endedAt: time('When that ended for the last of them; absent while it lasts.').exactOptional() })
    .describe('Set if more VMs were left alone: the same counts for all VMs of the pool.')
    .exactOptional(),
  handledRequests: handledRequests(HEALING_REQUEST_ANNOTATION),
});
export type HealingStatus = z.infer<typeof HealingStatus>;

export const SeenVersions = z.strictObject({
  vms: z.string().max(20).exactOptional(),
  vmis: z.string().max(20).exactOptional(),
});

/** A claim on the pool's disruption budget: from now on the VM may go down at any moment. */
export const DisruptedVm = z.strictObject({
  vm: z.string().describe('Its name.'),
  vmi: z.string().describe('UID of the VMI that may be ended; absent for a VM that had none.').exactOptional(),
  by: z.string().max(1024).describe('Id of the workflow that may disrupt it.'),
  at: time('When the place was claimed.'),
  migration: count(
    'Number of the migration by drover that the place is claimed for; absent if the VMI is to end.',
  ).exactOptional(),
  minVersions: SeenVersions.describe(
    'Resource versions of the VM and its VMI at that time: older objects say nothing about this claim.',
  ).exactOptional(),
});
export type DisruptedVm = z.infer<typeof DisruptedVm>;

/** A VM of a pool that is not one of its replicas. */
export const RoleEntry = z.strictObject({
  vm: z.string().describe('Its name.'),
  role: z.enum(['Standby', 'Surge']).describe('Standby: ready to become a replica. Surge: extra during an update.'),
  uid: z.string().describe('UID of the VM; absent until the VM is known to exist.').exactOptional(),
  at: time('When this was recorded, before the VM was made.'),
});
export type RoleEntry = z.infer<typeof RoleEntry>;

/** Why VMs that are to leave nodes that are drained have not left them yet. */
export const DRAINING_REASONS = ['Stuck', 'Evacuating', 'WaitingForBudget', 'WaitingForWindow', 'Waiting'] as const;

/** What the status of each kind ends with. */
export const WritesAndConditions = {
  writes: count('Number of status writes: a stale write is detected by an older number, and dropped.').exactOptional(),
  turn: z.string().describe('Which turn of which run of the workflow has written this.').exactOptional(),
  conditions: z
    .array(Condition)
    .max(32)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
    .exactOptional(),
};

export const PoolStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  desiredReplicas,
  replicas: count('VMs of the pool, without VMs that are being deleted, with extra VMs.'),
  readyReplicas: count('VMs whose VMIs are ready.').exactOptional(),
  availableReplicas: count('VMs that run and have been ready for rollout.minReadySeconds.').exactOptional(),
  unavailableReplicas: count('VMs that should run and are not available, or are missing.').exactOptional(),
  updatedReplicas: count('VMs that carry the newest revision.').exactOptional(),
  outdatedPodReplicas: count(
    'VMs that run the template in pods that lack some of it: labels, annotations, placement.',
  ).exactOptional(),
  driftedReplicas: count('VMs that differ from their templates because of manual changes.').exactOptional(),
  surgeReplicas: count('Extra VMs, which stand in for others while these are updated.').exactOptional(),
  standbyReplicas: count('Standby VMs, without VMs that are being deleted.').exactOptional(),
  readyStandbyReplicas: count('Standby VMs that are ready to become replicas.').exactOptional(),
  labelSelector: z.string().describe('Selector of the VMs, for the scale subresource.').exactOptional(),
  currentRevision: z.string().describe('The last revision that all VMs had.').exactOptional(),
  updateRevision: z.string().describe('Revision of the template.').exactOptional(),
  keptDisks: count('Disks of VMs that have left, kept for the next VMs of their numbers.').exactOptional(),
  rollout: RolloutStatus.describe('The newest rollout.').exactOptional(),
  check: CheckStatus.describe('The check of the step that the rollout is at.').exactOptional(),
  healing: HealingStatus.describe('Replacements of failing VMs, if the pool has autohealing.').exactOptional(),
  membership: z
    .strictObject({ handledRequests: handledRequests(MEMBERSHIP_REQUEST_ANNOTATION) })
    .describe('Requests of users about its members.')
    .exactOptional(),
  budgetFullSince: time('Since when a rollout has waited for the budget, with no more VMs updated.').exactOptional(),
  contents: z
    .array(StoredContent)
    .max(CAPS.contents)
    .describe(
      'What drover knows of the content of Secrets and ConfigMaps beyond the times of their writes, with rollout.onConfigChange.',
    )
    .exactOptional(),
  draining: z
    .array(
      z.strictObject({
        reason: z.enum(DRAINING_REASONS),
        vms: count('How many VMs.'),
        since: time('Since when the condition Draining has had its reason; only in the first entry.').exactOptional(),
      }),
    )
    .max(DRAINING_REASONS.length)
    .describe('VMs that are to leave nodes that are drained, by what they wait for.')
    .exactOptional(),
  disruptedVMs: z
    .array(DisruptedVm)
    .max(CAPS.claims)
    .meta({ 'x-kubernetes-list-type': 'atomic' })
    .describe('Claimed places in the budget of maxUnavailable, for VMs that may not be down yet.')
    .exactOptional(),
  disruptionsSeen: SeenVersions.describe(
    'Resource versions at which claimed VMs were last seen down: older objects may still show them as up.',
  ).exactOptional(),
  roles: z
    .array(RoleEntry)
    .max(CAPS.roles)
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['vm'] })
    .describe(
      'Which VMs are standby VMs or extra ones. All others are replicas, whatever their labels say. Only drover may write this.',
    )
    .exactOptional(),
  ...WritesAndConditions,
});
export type PoolStatus = z.infer<typeof PoolStatus>;
