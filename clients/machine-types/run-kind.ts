import { transitionOutline, type TransitionProgress } from '../../decisions/machine-types/transition.ts';
import { transitionIdOf, transitionProgress } from '../../workflows/lib/messages.ts';
import type { RunKind } from '../runs/kind.ts';

/** What lists show of a transition. */
export interface ListedTransition {
  glob: string;
  /** Null: the type is cleared, so that the default applies. */
  to: string | null;
  /** Id of the transition that it undoes. */
  undoes: string | null;
  restartNow: boolean;
}

export const Transitions: RunKind<TransitionProgress, ListedTransition> = {
  workflowType: 'machineTypeTransition',
  noun: 'machine type transition',
  command: 'drover machine-types',
  idOf: transitionIdOf,
  query: transitionProgress,
  outlineOf: transitionOutline,
  listed: ({ glob = '<unknown>', to = null, undoes = null, restartNow = false }) => ({ glob, to, undoes, restartNow }),
  columns: ['GLOB', 'TO', 'RESTARTED BY'],
  cellsOf: ({ glob, to, undoes, restartNow }) => [
    undoes === null ? glob : `undo of ${undoes}`,
    undoes === null ? (to ?? '<default>') : '<as before>',
    restartNow ? 'drover' : 'owners',
  ],
  cutOff: () => 'what it has marked stays marked',
};
