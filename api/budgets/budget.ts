import * as z from 'zod';
import { kindSchema } from '../kind-schema.ts';
import { CAPS } from '../lib/caps.ts';
import { LabelSelector } from '../pool/selection.ts';
import { DisruptedVm, SeenVersions, WritesAndConditions } from '../pool/status.ts';
import { count, IntOrPercentFrom0, LabelKey, rules, time, WholeNumber } from '../pool/text.ts';
import { Windows } from '../pool/windows.ts';

/** Most workflows that the status of a budget lists as waiting: more wait without a turn. */
export const MAX_WAITERS = 64;

/** For what drover disrupts VMs, as budgets name it. */
export const DisruptionReason = z.enum([
  'Rollout',
  'Restart',
  'Stop',
  'Migrate',
  'Change',
  'MachineType',
  'Drain',
  'Wish',
  'Removal',
]);
export type DisruptionReason = z.infer<typeof DisruptionReason>;

const FIELDS = {
  selector: LabelSelector.describe(
    'Which VMs, by the labels in their own metadata: those of spec.template.metadata do not count. {} matches all.',
  ),
  maxUnavailable: IntOrPercentFrom0.describe(
    'How many of the VMs that should run may be unavailable at once, or how many percent; rounded down, but at least 1 if not 0%. ' +
      'Kubernetes rounds its own maxUnavailable up.',
  ).exactOptional(),
  minAvailable: IntOrPercentFrom0.describe(
    'How many VMs must be available at any time, or how many percent of those that should run; rounded up.',
  ).exactOptional(),
  maxMigrating: WholeNumber.min(0)
    .describe(
      'How many VMs may migrate at once, whoever migrates them. Without it, a VM that migrates counts as unavailable.',
    )
    .exactOptional(),
  topology: z
    .strictObject({
      key: LabelKey.describe('A label of nodes, such as topology.kubernetes.io/zone. Its values are the domains.'),
      maxDomains: WholeNumber.min(1).describe('VMs of so many domains may be unavailable at once.'),
    })
    .describe('Has no VM disrupted while VMs of other domains are unavailable.')
    .exactOptional(),
  windows: Windows.min(1).describe('When the limits of this budget hold.').exactOptional(),
  outside: z
    .enum(['Deny', 'Allow'])
    .describe('What holds outside of the windows. Deny: no disruption begins. Allow: this budget does not limit any.')
    .exactOptional(),
  reasons: z
    .array(DisruptionReason)
    .min(1)
    .meta({ 'x-kubernetes-list-type': 'set' })
    .describe(
      'Which disruptions ask this budget: all, if absent. VMs that go down otherwise count as unavailable in any case.',
    )
    .exactOptional(),
};

const NAMESPACE_SELECTOR = LabelSelector.describe('VMs of namespaces with these labels; of ALL namespaces, if absent.');

const ONE_LIMIT = 'may have either maxUnavailable or minAvailable, not both';
const NO_LIMIT = 'must have maxUnavailable, minAvailable, maxMigrating or topology, or windows with outside: Deny';
const WINDOWS_SHAPE = 'must have both windows and outside, or neither: outside says what holds outside of the windows';
const LIMITS = ['maxUnavailable', 'minAvailable', 'maxMigrating', 'topology'] as const;

type Fields = z.infer<z.ZodObject<typeof FIELDS>>;

const checked = <Spec extends z.ZodType<Fields>>(spec: Spec) =>
  spec
    .refine((it) => it.maxUnavailable === undefined || it.minAvailable === undefined, ONE_LIMIT)
    .refine((it) => it.outside === 'Deny' || LIMITS.some((limit) => it[limit] !== undefined), NO_LIMIT)
    .refine((it) => (it.windows === undefined) === (it.outside === undefined), WINDOWS_SHAPE)
    .meta(
      rules(
        ['!(has(self.maxUnavailable) && has(self.minAvailable))', ONE_LIMIT],
        [
          `(has(self.outside) && self.outside == 'Deny') || ${LIMITS.map((it) => `has(self.${it})`).join(' || ')}`,
          NO_LIMIT,
        ],
        ['has(self.windows) == has(self.outside)', WINDOWS_SHAPE],
      ),
    );

const NamespacedSpec = checked(z.strictObject(FIELDS));
const ClusterWideSpec = checked(z.strictObject({ namespaceSelector: NAMESPACE_SELECTOR.exactOptional(), ...FIELDS }));

/** What a budget of either kind says: only a cluster-wide one selects namespaces. */
export type BudgetSpec = z.infer<typeof ClusterWideSpec>;

/** A place in a budget: from now on the VM may go down at any moment. */
export const BudgetClaim = DisruptedVm.extend({
  namespace: z.string().max(63).describe('Its namespace.'),
  reason: z
    .enum([...DisruptionReason.options, 'Failed'])
    .describe('What it is disrupted for. Failed: it went down by itself, and its domain counts until it is back.'),
  pastBudgets: z
    .literal(true)
    .describe('It was granted whatever the budget says: its operation has spec.pastBudgets.')
    .exactOptional(),
  domain: z
    .string()
    .max(63)
    .describe(
      'The value of the node label of spec.topology; absent if it is unknown, or if the budget has no topology.',
    )
    .exactOptional(),
}).describe('A VM that may be disrupted.');
export type BudgetClaim = z.infer<typeof BudgetClaim>;

const Waiter = z.strictObject({
  by: z.string().max(1024).describe('Id of the workflow that waits.'),
  reason: DisruptionReason.describe('What it disrupts VMs for.'),
  vms: count('How many VMs wait.'),
  since: time('Since when.'),
  seenAt: time('When it last asked. What no longer asks loses its turn.'),
});
export type BudgetWaiter = z.infer<typeof Waiter>;

/** The API server takes twice as long for a list whose entries it tracks one by one: see `managedFields`. */
const WHOLE = { 'x-kubernetes-list-type': 'atomic' };

export const BudgetStatus = z.strictObject({
  observedGeneration: z.int().min(0).describe('The generation of the spec that this status is about.').exactOptional(),
  matched: count('VMs that the selector matches.').exactOptional(),
  expected: count('VMs of these that should run, with missing VMs of pools and sets.').exactOptional(),
  available: count('VMs that are ready, on nodes that answer, and not claimed.').exactOptional(),
  migrating: count('VMs that migrate, if the budget has maxMigrating.').exactOptional(),
  disruptionsAllowed: count(
    'How many more VMs may go down now; absent if the budget does not limit that.',
  ).exactOptional(),
  claims: z
    .array(BudgetClaim)
    .max(CAPS.claims)
    .meta(WHOLE)
    .describe('VMs that may be disrupted, and may not be down yet. Only drover may write this.')
    .exactOptional(),
  waiting: z
    .array(Waiter)
    .max(MAX_WAITERS)
    .meta(WHOLE)
    .describe('Workflows whose VMs wait for this budget, in the order in which they get room.')
    .exactOptional(),
  fullSince: time('Since when no more VMs may go down; absent if VMs may.').exactOptional(),
  seen: SeenVersions.describe(
    'Resource versions at which claimed VMs were last seen down: older objects may still show them as up.',
  ).exactOptional(),
  conditions: WritesAndConditions.conditions,
});
export type BudgetStatus = z.infer<typeof BudgetStatus>;

/** How many VMs of a namespace drover may disrupt at once, whatever owns them. */
export const VirtualMachineDisruptionBudget = kindSchema(
  'VirtualMachineDisruptionBudget',
  NamespacedSpec,
  BudgetStatus,
);
/** The same for VMs of several namespaces, or of all. */
export const ClusterVirtualMachineDisruptionBudget = kindSchema(
  'ClusterVirtualMachineDisruptionBudget',
  ClusterWideSpec,
  BudgetStatus,
);
