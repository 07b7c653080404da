import * as z from 'zod';
import { LabelKey, Labels, LabelValue, rules } from './text.ts';

/** Operators of Kubernetes' node selectors. */
const COMPARISONS = new Map<unknown, string>(
  ['Gt', 'Lt'].map((operator) => [operator, 'drover compares no numbers: list the values, with the operator In']),
);
const VALUES_SHAPE = 'In and NotIn need values; Exists and DoesNotExist take none';

export const LabelSelectorRequirement = z
  .strictObject({
    key: LabelKey,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist'], { error: ({ input }) => COMPARISONS.get(input) }),
    values: z.array(LabelValue).max(64).exactOptional(),
  })
  .refine(
    ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0,
    VALUES_SHAPE,
  )
  .meta(rules([`(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)`, VALUES_SHAPE]));

/** Kubernetes' label selector: all labels and all expressions must match; an empty selector matches everything. */
export const LabelSelector = z.strictObject({
  matchLabels: Labels.meta({ maxProperties: 64 }).exactOptional(),
  matchExpressions: z.array(LabelSelectorRequirement).max(32).exactOptional(),
});
export type LabelSelector = z.infer<typeof LabelSelector>;

export const BasePolicy = z.enum(['Oldest', 'Newest', 'HighestNumber', 'LowestNumber', 'Random']);
export type BasePolicy = z.infer<typeof BasePolicy>;

/**
 * If the colon after `labelSelector` is missing, as in the proposal's third example, YAML reads it and the `- …` below
 * it as one text.
 */
const formatEntry = (text: string): string =>
  `YAML reads ${JSON.stringify(text)} as one text; an entry is written as "- labelSelector: {matchLabels: {<key>: <value>}}"`;

const NO_SELECTOR = 'must have a labelSelector, a nodeSelector, or both';

const OrderedPolicy = z
  .strictObject(
    {
      labelSelector: LabelSelector.exactOptional(),
      nodeSelector: LabelSelector.describe(
        'Matches the node labels that the VM itself asks for, in its spec.template.spec.nodeSelector.',
      ).exactOptional(),
    },
    { error: ({ input }) => (typeof input === 'string' ? formatEntry(input) : undefined) },
  )
  .refine(({ labelSelector, nodeSelector }) => labelSelector !== undefined || nodeSelector !== undefined, NO_SELECTOR)
  .meta(rules(['has(self.labelSelector) || has(self.nodeSelector)', NO_SELECTOR]));

const fields = {
  orderedPolicies: z
    .array(OrderedPolicy)
    .max(16)
    .describe('VMs that match an earlier entry are taken first; VMs that match none come last.')
    .exactOptional(),
  basePolicy: BasePolicy.describe(
    'The order among VMs of equal rank. Oldest and Newest go by age, HighestNumber and LowestNumber by the number in the name. Random, the default, takes VMs first whose loss disturbs least: VMs that are halted, not ready, or still need the update.',
  ).exactOptional(),
};

export const SelectionPolicy = z.strictObject(fields).describe('The order in which VMs are taken.');
export type SelectionPolicy = z.infer<typeof SelectionPolicy>;

const Spread = z
  .enum(['node', 'zone'])
  .describe(
    'Of VMs of equal rank, one leaves from the node or zone that has most VMs of the pool, so that the others stay spread.',
  );

/** The same with what makes sense only for VMs that go. */
export const ScaleInSelectionPolicy = z
  .strictObject({ ...fields, spread: Spread.exactOptional() })
  .describe('The order in which VMs are taken.');
export type ScaleInSelectionPolicy = z.infer<typeof ScaleInSelectionPolicy>;
