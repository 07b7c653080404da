import { isDue, type Notice, type NoticeType } from '../../../decisions/notices/notices.ts';
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

/** What waits for a user, as the page shows it. */
const NOTICES: Record<NoticeType, OnPage> = {
  'rollout.waiting': {
    kind: 'approval',
    what: (name) => `the rollout of ${name} waits for approval`,
    action: 'rollout.promote',
  },
  'rollout.halted': {
    kind: 'halted',
    what: (name) => `the rollout of ${name} has halted`,
    action: 'rollout.undo',
  },
  'budget.full': {
    kind: 'budget-full',
    what: (name) => `${name} waits for its disruption budget`,
    tone: 'warn',
  },
  'vm.givenup': { kind: 'given-up', what: (name) => `healing of ${name}`, action: 'heal.now' },
  'healing.suspended': { kind: 'healing-suspended', what: (name) => `${name} heals no VM` },
  'drain.stuck': { kind: 'drain-stuck', what: (name) => `VMs of ${name} can't leave nodes` },
  'owner.stalled': { kind: 'stalled', what: (name) => `${name} does not continue` },
  'owner.failing': { kind: 'stalled', what: (name) => name },
  'operation.failed': {
    kind: 'operation-failed',
    what: (name) => `operation ${name} has ended, and not all is done`,
  },
};

/** `now`: milliseconds since the epoch. */
export function draftsOf(notices: readonly Notice[], now: number): NeedDraft[] {
  return notices.flatMap((notice): NeedDraft[] => {
    if (!isDue(notice, now)) return [];
    const { type, about, which, since, reason, message, command } = notice;
    const { kind, what, tone = 'bad', action = null } = NOTICES[type];
    const said = type === 'owner.failing' ? [reason, message] : [message];
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
