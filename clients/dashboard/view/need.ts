import type { NoticeType } from '../../../api/notifications/types.ts';
import type { Notice } from '../../../decisions/notifications/notices.ts';
import type { ActionName, Action, Need, NeedKind } from '../contract/fleet.ts';

/** What an object has to tell, before it is said of which. */
export type NeedDraft = Pick<Need, 'kind' | 'sentence' | 'since' | 'command'> & {
  tone?: Need['tone'];
  done?: string;
  vm?: string | null;
  /** Tells it from others of its kind and its object. */
  which?: string;
  /** The button that answers. */
  action?: ActionName | null;
};

interface OnPage {
  kind: NeedKind;
  /** What is so, of the object with this name; what the status says of it follows. */
  what: (name: string) => string;
  tone?: Need['tone'];
  action?: ActionName;
}

/**
 * What notifications tell of, as the page shows it: at once, but for a full budget, which is what most rollouts wait
 * for.
 */
const NOTICES: Partial<Record<NoticeType, OnPage>> = {
  'dev.drover.rollout.waiting': {
    kind: 'approval',
    what: (name) => `the rollout of ${name} waits for approval`,
    action: 'rollout.promote',
  },
  'dev.drover.rollout.halted': {
    kind: 'halted',
    what: (name) => `the rollout of ${name} has halted`,
    action: 'rollout.undo',
  },
  'dev.drover.budget.full': {
    kind: 'budget-full',
    what: (name) => `${name} waits for its disruption budget`,
    tone: 'warn',
  },
  'dev.drover.vm.givenup': { kind: 'given-up', what: (name) => `healing of ${name}`, action: 'heal.now' },
  'dev.drover.healing.suspended': { kind: 'healing-suspended', what: (name) => `${name} heals no VM` },
  'dev.drover.drain.stuck': { kind: 'drain-stuck', what: (name) => `VMs of ${name} can't leave nodes` },
  'dev.drover.owner.stalled': { kind: 'stalled', what: (name) => `${name} does not continue` },
  'dev.drover.owner.failing': { kind: 'stalled', what: (name) => name },
  'dev.drover.operation.failed': {
    kind: 'operation-failed',
    what: (name) => `operation ${name} has ended, and not all is done`,
  },
};

/** `isDue`: of a notice that is told after a while, whether that is over. */
export function draftsOf(notices: readonly Notice[], isDue: (notice: Notice) => boolean = () => true): NeedDraft[] {
  return notices.flatMap((notice): NeedDraft[] => {
    const { type, about, which, since, reason, message, command } = notice;
    const shown = NOTICES[type];
    if (shown === undefined || (shown.kind === 'budget-full' && !isDue(notice))) return [];
    const { kind, what, tone = 'bad', action = null } = shown;
    const said = type === 'dev.drover.owner.failing' ? [reason, message] : [message];
    const sentence = [what(about.name), ...said].filter((part) => part !== '').join(': ');
    return [{ kind, tone, action, sentence, since, command, which, vm: about.vm ?? null }];
  });
}

/** Returns the button for what is told; null if there is none. */
type Buttons = (need: { action: ActionName; vm: string | null }) => Action | null;

/** `command`: with the namespace, if it is one of a notice. */
export function needOf(
  id: string,
  about: Need['about'],
  { tone = 'warn', done = '', vm = null, which = '', action = null, command, ...rest }: NeedDraft,
  buttons: Buttons = () => null,
): Need {
  const isWhole = about.namespace === null || command === 'drover doctor' || command.includes(' -n ');
  return {
    id: [id, rest.kind, vm ?? '', which].join('#'),
    tone,
    done,
    about,
    vm,
    action: action === null ? null : buttons({ action, vm }),
    command: `${command}${isWhole ? '' : ` -n ${about.namespace}`}`,
    ...rest,
  };
}
