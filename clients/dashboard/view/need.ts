import { isDue, noticeSentence, NOTICES, type Notice, type NoticeType } from '../../../decisions/notices/notices.ts';
import type { ActionName, Action, Need } from '../contract/fleet.ts';

/** What a need says, without the object that has it. */
export type NeedDraft = Pick<Need, 'kind' | 'sentence' | 'since' | 'command'> & {
  tone?: Need['tone'];
  done?: string;
  vm?: string | null;
  /** Tells it from others of its kind and its object. */
  which?: string;
  /** The button that answers. */
  action?: ActionName | null;
};

/** The buttons that answer. */
const BUTTONS: Partial<Record<NoticeType, ActionName>> = {
  'rollout.waiting': 'rollout.promote',
  'rollout.halted': 'rollout.undo',
  'vm.givenup': 'heal.now',
};

/** `now`: milliseconds since the epoch. */
export const draftsOf = (name: string, notices: readonly Notice[], now: number): NeedDraft[] =>
  notices
    .filter((notice) => isDue(notice, now))
    .map((notice) => {
      const { type: kind, vm = null, which, since, command } = notice;
      const { urgency: tone } = NOTICES[kind];
      const sentence = noticeSentence(notice, name);
      return { kind, tone, action: BUTTONS[kind] ?? null, sentence, since, command, which, vm };
    });

/** How long an object may wait for a worker before somebody should look, in milliseconds. */
export const UNSEEN_MS = 30_000;

/** What says that no worker has looked at an object. `since`: RFC 3339. */
export const unseen = (what: string, namespace: string | null, since: string): NeedDraft => ({
  kind: 'no-worker',
  tone: 'bad',
  sentence: `no worker has looked at ${what}: is one running that serves ${namespace ?? 'all namespaces'}?`,
  since,
  command: 'drover doctor',
});

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
