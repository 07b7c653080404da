import * as z from 'zod';
import { API_VERSION } from '../names.ts';
import { count, WritesAndConditions as Common } from '../pool/status.ts';
import { Duration, IntOrPercent, rules, WholeNumber } from '../pool/text.ts';
import { MAX_FAILURES_TOLD, MAX_NAMES_TOLD, MAX_WAITS_TOLD } from './limits.ts';
import { VmSelection } from './selection.ts';

/** What an operation does to VMs. */
export const OperationAction = z.enum(['Restart', 'Start', 'Stop', 'Migrate']);
export type OperationAction = z.infer<typeof OperationAction>;

/** What stays as it is once the operation was made: anything else would be another operation. */
const FIXED = ['atOnce', 'maxFailures', 'deadline', 'reason', 'requestedBy'] as const;
const FIXED_RULE = [
  'self.action == oldSelf.action && self.vms == oldSelf.vms',
  ...FIXED.map((name) => `has(self.${name}) == has(oldSelf.${name})`),
  ...FIXED.map((name) => `(!has(self.${name}) || !has(oldSelf.${name}) || self.${name} == oldSelf.${name})`),
].join(' && ');
const FIXED_SHAPE =
  'may change only paused, aborted and ttlSecondsAfterFinished: make another operation for anything else';
const ABORTED_RULE = '!has(oldSelf.aborted) || !oldSelf.aborted || (has(self.aborted) && self.aborted)';
const DEADLINE_RULE = "!has(self.deadline) || self.deadline.matches('[1-9]')";
const DEADLINE_SHAPE = 'deadline must be longer than 0s';
const ABORTED_SHAPE = 'aborted must stay true: what was aborted does not go on, make another operation';

export const OperationSpec = z
  .strictObject({
    action: OperationAction.describe(
      'Restart: each VMI that is no younger than the operation, within the disruption budgets. Migrate: each such VMI by a live migration, within the same budgets. Start, Stop: each VM that is no younger.',
    ),
    vms: VmSelection.describe('Which VMs of the namespace; never one that is younger than the operation.'),
    atOnce: IntOrPercent.describe(
      'How many of them may be starting or stopping at once, or how many percent; of a restart, how many may be not ready ' +
        'at once, whatever the cause, and of a migration, how many may be not ready or migrate. By default, 5% for ' +
        'Restart, 2 for Migrate, 10 for Start and 100% for Stop.',
    ).exactOptional(),
    maxFailures: WholeNumber.min(0).describe('More failures than this end it. 0 by default.').exactOptional(),
    deadline: Duration.refine((text) => /[1-9]/.test(text), DEADLINE_SHAPE)
      .describe(
        'How long a VM may take to be ready, to stop or to be migrated, and how long VMs are waited for at the end that can not be touched. ' +
          '10m by default.',
      )
      .exactOptional(),
    reason: z.string().max(1024).describe('Why, for people.').exactOptional(),
    requestedBy: z
      .string()
      .max(256)
      .describe('Who asks. The API server takes only the name of the user who makes the operation.')
      .exactOptional(),
    paused: z
      .boolean()
      .describe('No further VM is touched while this is true; those in progress are followed to their end.')
      .exactOptional(),
    aborted: z
      .boolean()
      .describe('No further VM is touched, and the operation ends once those in progress are done. It stays true.')
      .exactOptional(),
    ttlSecondsAfterFinished: WholeNumber.min(0)
      .describe('It is deleted so long after its end; never, if absent.')
      .exactOptional(),
  })
  .meta(rules([FIXED_RULE, FIXED_SHAPE], [ABORTED_RULE, ABORTED_SHAPE], [DEADLINE_RULE, DEADLINE_SHAPE]));
export type OperationSpec = z.infer<typeof OperationSpec>;

const time = (words: string) => z.string().meta({ format: 'date-time' }).describe(words);

export const OperationStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  requestedBy: z.string().max(256).describe('Who has asked for it.').exactOptional(),
  startTime: time('When its VMs were chosen.').exactOptional(),
  completionTime: time('When it ended, whatever the outcome. It never runs again.').exactOptional(),
  workflowId: z.string().max(1024).describe('Of the workflow in Temporal that carries it out.').exactOptional(),
  vms: z
    .strictObject({
      chosen: count('VMs that it is about.'),
      done: count('VMs that were restarted, started, stopped or migrated, and seen to be so.'),
      failed: count('VMs that were not ready, stopped or migrated in time, or that KubeVirt refused.'),
      inProgress: count('VMs that were begun with.'),
      open: count('VMs that are still to be done.'),
      excluded: count('VMs that must not be touched.'),
    })
    .describe('Its VMs by outcome. Those of none had nothing done to them: they were as wanted, or are gone.')
    .exactOptional(),
  inProgress: z
    .array(z.string().max(253))
    .max(MAX_NAMES_TOLD)
    .describe('VMs that were begun with: the first of them.')
    .exactOptional(),
  failures: z
    .array(
      z.strictObject({
        vm: z.string().max(253).describe('Its name.'),
        why: z.string().max(1024),
        wasDown: z.literal(true).describe('It was not ready before either, and does not count.').exactOptional(),
      }),
    )
    .max(MAX_FAILURES_TOLD)
    .describe('VMs that have failed; the newest last.')
    .exactOptional(),
  waits: z
    .array(
      z.strictObject({
        why: z.string().max(1024),
        vms: count('How many VMs wait for that; absent if it is a limit that is reached.').exactOptional(),
        names: z.array(z.string().max(253)).max(MAX_NAMES_TOLD).describe('The first of them.').exactOptional(),
        excluded: z.literal(true).describe('They are left as they are, and not waited for.').exactOptional(),
      }),
    )
    .max(MAX_WAITS_TOLD)
    .describe('What VMs wait for, and why VMs are left as they are.')
    .exactOptional(),
  conditions: Common.conditions,
});
export type OperationStatus = z.infer<typeof OperationStatus>;

/** Something that people want done to VMs once: restarted, started, stopped, migrated. */
export const VirtualMachineOperation = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal('VirtualMachineOperation'),
  metadata: z.looseObject({
    name: z.string().exactOptional(),
    generateName: z.string().exactOptional(),
    namespace: z.string().exactOptional(),
  }),
  spec: OperationSpec,
  status: OperationStatus.exactOptional(),
});
export type VirtualMachineOperation = z.infer<typeof VirtualMachineOperation>;
