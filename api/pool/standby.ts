import * as z from 'zod';
import { RUNS_BY_ITSELF, VMS_RUN_BY_THEMSELVES } from '../run-strategies.ts';
import { crossFieldRule, uncheckedField, WholeNumber, withRules } from './text.ts';

/** Keeps the numbers of a pool's VMs within five digits, or little more. */
const MAX_STANDBY = 1_000;

export const StandbyState = z.enum(['Stopped', 'Paused']);
export type StandbyState = z.infer<typeof StandbyState>;

export const Standby = z
  .strictObject({
    replicas: WholeNumber.min(0)
      .max(MAX_STANDBY)
      .describe('How many standby VMs the pool has in addition to its replicas.'),
    state: StandbyState.describe(
      'Stopped: their disks are there, and becoming a replica takes a start. Paused: they have come up and are paused, and ' +
        'becoming a replica takes a moment. Stopped by default.',
    ).exactOptional(),
  })
  .describe('VMs that are ready to become replicas. They are not counted as replicas.');
export type Standby = z.infer<typeof Standby>;

const RUNNING =
  'standby is for VMs that start by themselves: template.spec.runStrategy must be Always, RerunOnFailure or Once';

/**
 * Requires that VMs of a pool with standby VMs start by themselves: otherwise standby VMs could not be told from
 * replicas.
 */
export function withRunningStandby<T extends z.ZodType>(schema: T): T {
  const checked = crossFieldRule(
    schema,
    ({ standby, template }) => {
      const spec = uncheckedField(template, 'spec');
      return (
        standby === undefined ||
        template === undefined ||
        uncheckedField(spec, 'running') === true ||
        RUNS_BY_ITSELF.includes(String(uncheckedField(spec, 'runStrategy')))
      );
    },
    RUNNING,
  );
  return withRules(checked, [`!has(self.standby) || ${VMS_RUN_BY_THEMSELVES}`, RUNNING]);
}
