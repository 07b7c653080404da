import * as z from 'zod';
import { kindSchema } from '../kind-schema.ts';
import { LabelSelector, SelectionPolicy } from '../pool/selection.ts';
import { WritesAndConditions as Common } from '../pool/status.ts';
import { Duration, IntOrPercent, rules, WholeNumber, count, time } from '../pool/text.ts';
import { Windows } from '../pool/windows.ts';
import { MAX_FAILURES_LISTED, MAX_NAMES, MAX_NAMES_LISTED, MAX_WAITS_LISTED } from './defaults-and-limits.ts';
import { MachineTypeChange, MachineTypeStatus } from './machine-type.ts';
import { VmPatch } from './patch.ts';
import { VmSelection } from './selection.ts';

export const OperationAction = z.enum(['Restart', 'Start', 'Stop', 'Migrate', 'Patch', 'MachineType']);
export type OperationAction = z.infer<typeof OperationAction>;

/** What cannot change once the operation has been created: anything else would be another operation. */
const FIXED = [
  'patch',
  'machineType',
  'atOnce',
  'maxFailures',
  'windows',
  'order',
  'deadline',
  'reason',
  'pastBudgets',
  'requestedBy',
] as const;
const fixedRule = (fixed: readonly string[]): string =>
  [
    'self.action == oldSelf.action && self.vms == oldSelf.vms',
    ...fixed.map((name) => `has(self.${name}) == has(oldSelf.${name})`),
    ...fixed.map((name) => `(!has(self.${name}) || !has(oldSelf.${name}) || self.${name} == oldSelf.${name})`),
  ].join(' && ');
const FIXED_SHAPE =
  'may change only paused, aborted and ttlSecondsAfterFinished: make another operation for anything else';
const ABORTED_RULE = '!has(oldSelf.aborted) || !oldSelf.aborted || (has(self.aborted) && self.aborted)';
const PATCH_RULE = "has(self.patch) == (self.action == 'Patch')";
const PATCH_SHAPE = 'must have patch with the action Patch, and with no other';
const DEADLINE_RULE = "!has(self.deadline) || self.deadline.matches('[1-9]')";
const DEADLINE_SHAPE = 'deadline must be longer than 0s';
const ABORTED_SHAPE = 'aborted must stay true: an aborted operation does not continue, make another one';

const FIELDS = {
  action: OperationAction.describe(
    'Restart: each VMI that is not younger than the operation, within the disruption budgets. Migrate: each such VMI by a live migration, within the same budgets. Start, Stop: each VM that is not younger. Patch: the fields of each such VM. MachineType: VMs get another machine type, including VMs that come to match while it runs.',
  ),
  vms: VmSelection.describe(
    'Which VMs; never VMs that are younger than the operation, unless its action is MachineType.',
  ),
  patch: VmPatch.describe('What Patch changes.').exactOptional(),
  machineType: MachineTypeChange.describe('What the action MachineType does.').exactOptional(),
  atOnce: IntOrPercent.describe(
    'How many of them may be starting, stopping or changed at once, or how many percent; of a restart, how many may be ' +
      'not ready at once, whatever the cause, and of a migration, how many may be not ready or migrate. By default, ' +
      '5% for Restart and for Patch with restart, 2 for Migrate, 10 for Start and Patch, 100% for Stop, and for ' +
      'MachineType 5% of the VMs that it restarts itself.',
  ).exactOptional(),
  maxFailures: WholeNumber.min(0).describe('More failures than this end it. 0 by default.').exactOptional(),
  windows: Windows.describe(
    'Work on a VM starts only inside one of these windows; VMs in progress will finish. With MachineType, VMIs are restarted only then.',
  ).exactOptional(),
  order: SelectionPolicy.describe(
    'Which VMs come first, after VMs that are already down. By default, they are scattered, so that no application goes down as a whole.',
  ).exactOptional(),
  deadline: Duration.refine((text) => /[1-9]/.test(text), DEADLINE_SHAPE)
    .describe(
      'How long a VM may take to be ready, to stop, to be migrated or changed, and how long VMs are waited for at the end that can not be touched. ' +
        '10m by default.',
    )
    .exactOptional(),
  reason: z.string().max(1024).describe('The reason, for users.').exactOptional(),
  pastBudgets: z
    .boolean()
    .describe(
      'VMs wait for no disruption budget, but for that of their pool: for a drain that a budget would hold up for ever. Takes the verb override on both kinds of budgets.',
    )
    .exactOptional(),
  requestedBy: z
    .string()
    .max(256)
    .describe('The requester. The API server accepts only the name of the user who makes the operation.')
    .exactOptional(),
  paused: z
    .boolean()
    .describe('No further VM is touched while this is true; those in progress will finish.')
    .exactOptional(),
  aborted: z
    .boolean()
    .describe('No further VM is touched, and the operation ends once those in progress are done. It stays true.')
    .exactOptional(),
  ttlSecondsAfterFinished: WholeNumber.min(0)
    .describe('How long after its end it is deleted; never, if absent.')
    .exactOptional(),
};

const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** Which namespaces the VMs of a cluster-wide operation may be in. */
const NAMESPACES = {
  namespaces: z
    .array(z.string().max(63).regex(NAMESPACE, 'must be the name of a namespace'))
    .min(1)
    .max(MAX_NAMES)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe(
      'VMs of these namespaces, in addition to namespaces that namespaceSelector matches. VMs of ALL namespaces if both are absent.',
    )
    .exactOptional(),
  namespaceSelector: LabelSelector.describe(
    'VMs of namespaces with these labels, in addition to the VMs of spec.namespaces. VMs of ALL namespaces if both are absent.',
  ).exactOptional(),
};

/** Parameters of an action stand in a field of its name. */
const PARAMETERS_RULE = "(self.action == 'MachineType') == has(self.machineType)";
const PARAMETERS_SHAPE = 'machineType goes with the action MachineType, and that with it';
/** A change of machine types continues for weeks: it can't go by what is so at one moment. */
const NOT_LASTING = ['owner', 'machineType', 'restartRequired', 'launcherOutdated'] as const;
const LASTING_RULE = `self.action != 'MachineType' || !(${NOT_LASTING.map((name) => `has(self.vms.${name})`).join(' || ')})`;
const LASTING_SHAPE = 'vms may hold only names, selector, runState and exclude with the action MachineType';

type Parameters = Pick<z.infer<z.ZodObject<typeof FIELDS>>, 'action' | 'vms' | 'machineType'>;

/** `scope`: fields that say which namespaces. */
const checked = <Spec extends z.ZodType<Parameters>>(spec: Spec, ...scope: string[]) =>
  spec
    .refine(({ action, machineType }) => (action === 'MachineType') === (machineType !== undefined), PARAMETERS_SHAPE)
    .refine(({ action, vms }) => action !== 'MachineType' || !NOT_LASTING.some((name) => name in vms), LASTING_SHAPE)
    .meta(
      rules(
        [fixedRule([...FIXED, ...scope]), FIXED_SHAPE],
        [ABORTED_RULE, ABORTED_SHAPE],
        [DEADLINE_RULE, DEADLINE_SHAPE],
        [PATCH_RULE, PATCH_SHAPE],
        [PARAMETERS_RULE, PARAMETERS_SHAPE],
        [LASTING_RULE, LASTING_SHAPE],
      ),
    );

const NamespacedSpec = checked(z.strictObject(FIELDS));
const ClusterWideSpec = checked(z.strictObject({ ...FIELDS, ...NAMESPACES }), ...Object.keys(NAMESPACES));

const {
  pastBudgets: _past,
  requestedBy: _by,
  paused: _paused,
  aborted: _aborted,
  ttlSecondsAfterFinished: _ttl,
  ...TEMPLATE_FIELDS
} = FIELDS;

/** What the operations of a schedule do: the schedule says everything else. */
export const OperationTemplateSpec = z
  .strictObject(TEMPLATE_FIELDS)
  .meta(rules([DEADLINE_RULE, DEADLINE_SHAPE], [PATCH_RULE, PATCH_SHAPE]));

/** What an operation of either kind asks for: only a cluster-wide one says which namespaces. */
export type OperationSpec = z.infer<typeof ClusterWideSpec>;

/** The name of a VM in a status. */
const VmName = z.string().max(317);

export const OperationStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  requestedBy: z.string().max(256).describe('Who requested it.').exactOptional(),
  startTime: time('When its VMs were chosen.').exactOptional(),
  completionTime: time('When it ended, whatever the outcome. It never runs again.').exactOptional(),
  workflowId: z.string().max(1024).describe('Id of the workflow in Temporal that carries it out.').exactOptional(),
  vms: z
    .strictObject({
      chosen: count('VMs in its scope.'),
      done: count('VMs that were restarted, started, stopped, migrated or changed, as drover has verified.'),
      failed: count('VMs that were not ready, stopped, migrated or changed in time, or that KubeVirt refused.'),
      inProgress: count('VMs in progress.'),
      open: count('VMs that are still to be done.'),
      excluded: count('VMs that must not be touched.'),
    })
    .describe('Its VMs by outcome. VMs in none of these had nothing done to them: they needed nothing, or are gone.')
    .exactOptional(),
  inProgress: z.array(VmName).max(MAX_NAMES_LISTED).describe('VMs in progress: the first of them.').exactOptional(),
  failures: z
    .array(
      z.strictObject({
        vm: VmName.describe('Its name; of a cluster-wide operation, with its namespace: namespace/name.'),
        message: z.string().max(1024),
        wasDown: z
          .literal(true)
          .describe('The VM was not ready before either, and its failure does not count.')
          .exactOptional(),
      }),
    )
    .max(MAX_FAILURES_LISTED)
    .describe('VMs that have failed; the newest last.')
    .exactOptional(),
  waits: z
    .array(
      z.strictObject({
        message: z.string().max(1024),
        vms: count('How many VMs wait for that; absent for a limit that is reached.').exactOptional(),
        names: z.array(VmName).max(MAX_NAMES_LISTED).describe('The first of them.').exactOptional(),
        excluded: z.literal(true).describe('They are left as they are, and not waited for.').exactOptional(),
      }),
    )
    .max(MAX_WAITS_LISTED)
    .describe('What VMs wait for, and why VMs are left as they are.')
    .exactOptional(),
  machineType: MachineTypeStatus.describe('The state of a change of machine types.').exactOptional(),
  conditions: Common.conditions,
});
export type OperationStatus = z.infer<typeof OperationStatus>;

/** Something that users want done to VMs of a namespace once: restarted, started, stopped, migrated. */
export const VirtualMachineOperation = kindSchema('VirtualMachineOperation', NamespacedSpec, OperationStatus);
/** The same for VMs of several namespaces, or of all: one operation, with one limit over all of them. */
export const ClusterVirtualMachineOperation = kindSchema(
  'ClusterVirtualMachineOperation',
  ClusterWideSpec,
  OperationStatus,
);

/** An operation of either kind, as users make one. */
export type AnyOperation = z.infer<typeof VirtualMachineOperation> | z.infer<typeof ClusterVirtualMachineOperation>;
