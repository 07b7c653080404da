import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import { powerOutline, type PowerProgress } from '../../decisions/power/progress.ts';
import { powerIdOf, powerProgress } from '../../workflows/messages.ts';
import type { RunKind } from '../runs/kind.ts';

/** What lists show of a run. */
export interface ListedPower {
  action: PowerAction | '<unknown>';
  vms: number;
}

export const PowerRuns: RunKind<PowerProgress, ListedPower> = {
  workflowType: 'powerVms',
  noun: 'run of VMs',
  command: 'drover vm runs',
  idOf: powerIdOf,
  query: powerProgress,
  outlineOf: powerOutline,
  listed: ({ action = '<unknown>', vms = 0 }) => ({ action, vms }),
  columns: ['ACTION', 'VMS'],
  cellsOf: ({ action, vms }) => [action === '<unknown>' ? action : ACTION_LABELS[action].verb, vms],
  cutOff: ({ inProgress }) => (inProgress.length === 0 ? null : 'nobody follows what it has begun with'),
};
