import type * as z from 'zod';
import { isZero, type IntOrPercent } from '../lib/int-or-percent.ts';
import { RUNS_BY_ITSELF, VMS_RUN_BY_THEMSELVES } from '../run-strategies.ts';
import { withRules } from './text.ts';

/** What the rules read of a pool's spec. */
interface Surging {
  maxUnavailable?: IntOrPercent;
  maxSurge?: IntOrPercent;
  updateStrategy?: { unmanaged?: unknown; opportunistic?: unknown; proactive?: { disruption?: string } };
  template: { spec: { running?: boolean; runStrategy?: string; dataVolumeTemplates?: readonly unknown[] } };
}

interface Rule {
  field: keyof Surging;
  message: string;
  isValid: (spec: Surging) => boolean;
  /** The same for the API server. */
  cel: string;
}

const isOff = ({ maxSurge = 0 }: Surging): boolean => isZero(maxSurge);
const isZeroInCel = (field: string): string => `(type(${field}) == int ? ${field} == 0 : ${field} == '0%')`;
const IS_OFF = `!has(self.maxSurge) || ${isZeroInCel('self.maxSurge')}`;
const VM = 'self.template.spec';
const STRATEGY = 'self.updateStrategy';

const RULES: readonly Rule[] = [
  {
    field: 'maxUnavailable',
    message: 'must be at least 1, unless maxSurge is: with both 0 no VM could be updated',
    isValid: (spec) => !isZero(spec.maxUnavailable ?? 1) || !isOff(spec),
    cel: `!has(self.maxUnavailable) || !${isZeroInCel('self.maxUnavailable')} || !(${IS_OFF})`,
  },
  {
    field: 'maxSurge',
    message:
      'must be 0 if VMs have their own disks (dataVolumeTemplates), unless updateStrategy.proactive.disruption is Replace: ' +
      'an extra VM has none of their data',
    isValid: (spec) =>
      isOff(spec) ||
      (spec.template.spec.dataVolumeTemplates ?? []).length === 0 ||
      spec.updateStrategy?.proactive?.disruption === 'Replace',
    cel:
      `${IS_OFF} || !has(${VM}.dataVolumeTemplates) || size(${VM}.dataVolumeTemplates) == 0 || ` +
      `(has(${STRATEGY}) && has(${STRATEGY}.proactive) && has(${STRATEGY}.proactive.disruption) && ` +
      `${STRATEGY}.proactive.disruption == 'Replace')`,
  },
  {
    field: 'maxSurge',
    message: 'must be 0 unless updateStrategy is proactive: only its updates make extra VMs',
    isValid: (spec) =>
      isOff(spec) || (spec.updateStrategy?.unmanaged === undefined && spec.updateStrategy?.opportunistic === undefined),
    cel: `${IS_OFF} || !has(${STRATEGY}) || !(has(${STRATEGY}.unmanaged) || has(${STRATEGY}.opportunistic))`,
  },
  {
    field: 'maxSurge',
    message: `must be 0 unless VMs start by themselves (runStrategy ${RUNS_BY_ITSELF.join(', ')}): an extra VM is of use only while it runs`,
    isValid: (spec) => {
      const { running, runStrategy = '' } = spec.template.spec;
      return isOff(spec) || running === true || RUNS_BY_ITSELF.includes(runStrategy);
    },
    cel: `${IS_OFF} || ${VMS_RUN_BY_THEMSELVES}`,
  },
];

/**
 * Requires of a pool's spec that its VMs can be updated at all, and that an extra VM can stand in for another. Checked
 * once all fields are well-formed.
 */
export function withSurgeRules<T extends z.ZodType>(schema: T): T {
  const checked = RULES.reduce<T>(
    (before, { field, message, isValid }) =>
      before.refine((spec) => isValid(spec as Surging), {
        error: message,
        path: [field],
        when: ({ issues }) => issues.length === 0,
      }),
    schema,
  );
  return withRules(checked, ...RULES.map(({ field, message, cel }) => [cel, `${field} ${message}`] as const));
}
