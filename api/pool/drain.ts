import * as z from 'zod';
import { WholeNumber, withRules } from './text.ts';
import type { VmTemplate } from './vm-template.ts';
import { Windows } from './windows.ts';

export const Drain = z
  .strictObject({
    method: z
      .enum(['MigrateOrRestart', 'Migrate', 'Restart'])
      .describe(
        'How a running VM leaves its node. MigrateOrRestart, the default: by a live migration; by a restart if KubeVirt ' +
          'cannot migrate it, if three migrations fail, or after deadlineSeconds. Migrate: never by a restart. Restart: always.',
      )
      .exactOptional(),
    deadlineSeconds: WholeNumber.min(1)
      .describe(
        'How long the migrations of a VM may take before it is restarted instead; under Migrate, before the pool reports it as stuck. 1800 by default.',
      )
      .exactOptional(),
    windows: Windows.describe(
      'Running VMs begin to leave a node only inside one of these windows; at any time if there are none.',
    ).exactOptional(),
  })
  .describe('Has drover move VMs off a node that is drained, within maxUnavailable. Off by default.');
export type Drain = z.infer<typeof Drain>;
export type DrainMethod = NonNullable<Drain['method']>;

/** Under `External`, KubeVirt leaves it to drover to act on an eviction. */
const STRATEGIES: ReadonlySet<unknown> = new Set([undefined, 'External']);

const SENTENCE =
  'must be left out or External in a pool with drain: under any other strategy KubeVirt itself acts on evictions';
const PATH = ['template', 'spec', 'template', 'spec', 'evictionStrategy'];
const VMI_SPEC = 'self.template.spec.template.spec';
const CEL =
  `!has(self.drain) || !has(${VMI_SPEC}) || !has(${VMI_SPEC}.evictionStrategy) || ` +
  `${VMI_SPEC}.evictionStrategy == 'External'`;

/** Refuses a pool with `drain` whose template names an eviction strategy under which KubeVirt acts by itself. */
export function withDrainableTemplate<T extends z.ZodType>(schema: T): T {
  const checked = schema.refine(
    (spec) => {
      const { drain, template } = spec as { drain?: unknown; template?: VmTemplate };
      return drain === undefined || STRATEGIES.has(evictionStrategyOf(template));
    },
    {
      error: SENTENCE,
      path: PATH,
      when: ({ value, issues }) =>
        typeof value === 'object' && value !== null && issues.every(({ path }) => path?.[0] !== 'template'),
    },
  );
  return withRules(checked, [CEL, `${PATH.join('.')} ${SENTENCE}`]);
}

const evictionStrategyOf = (template: VmTemplate | undefined): unknown =>
  (template?.spec.template as { spec?: { evictionStrategy?: unknown } } | undefined)?.spec?.evictionStrategy;
