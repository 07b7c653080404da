import type { EventReason } from '../reasons.ts';

interface NoticeRule {
  /** What is told. */
  what: string;
  /** For how long that must be so before it is told, in seconds. */
  afterSeconds: number;
  /** Whether its end is told, too. What has no end has happened, and is told for a day. */
  hasEnd: boolean;
  /** The Event that a worker records with it; null if another Event tells the same already, or none is needed. */
  event: EventReason | null;
}

/**
 * What receivers are told, by the types of CloudEvents. They are part of the API: receivers filter by them.
 * `docs/notifications.md` names all of them, and a test compares.
 */
export const NOTICE_TYPES = {
  'dev.drover.rollout.waiting': {
    what: 'a rollout waits for approval',
    afterSeconds: 0,
    hasEnd: true,
    event: 'WaitingForApproval',
  },
  'dev.drover.rollout.halted': {
    what: 'a rollout has halted or is undone, because too many VMs or the check of a step have failed',
    afterSeconds: 0,
    hasEnd: true,
    event: 'RolloutHalted',
  },
  'dev.drover.budget.full': {
    what: 'for an hour, a rollout or a drain has waited for the disruption budget, and nothing frees it',
    afterSeconds: 3_600,
    hasEnd: true,
    event: 'BudgetFull',
  },
  'dev.drover.vm.givenup': {
    what: 'healing has given a VM up',
    afterSeconds: 0,
    hasEnd: false,
    event: null,
  },
  'dev.drover.healing.suspended': {
    what: 'so many VMs are unhealthy that no more are replaced',
    afterSeconds: 60,
    hasEnd: true,
    event: null,
  },
  'dev.drover.drain.stuck': {
    what: 'VMs may never leave a node that is drained',
    afterSeconds: 60,
    hasEnd: true,
    event: null,
  },
  'dev.drover.owner.stalled': {
    what: 'a pool or a replica set does not continue before a user corrects something',
    afterSeconds: 60,
    hasEnd: true,
    event: null,
  },
  'dev.drover.owner.failing': {
    what: 'something that a pool or a replica set does has failed for five minutes, or something is in its way',
    afterSeconds: 300,
    hasEnd: true,
    event: null,
  },
  'dev.drover.operation.failed': {
    what: 'an operation has ended, and not all is done',
    afterSeconds: 0,
    hasEnd: false,
    event: null,
  },
  'dev.drover.operation.completed': {
    what: 'an operation has done all',
    afterSeconds: 0,
    hasEnd: false,
    event: null,
  },
} as const satisfies Record<string, NoticeRule>;

export type NoticeType = keyof typeof NOTICE_TYPES;

export const noticeRule = (type: NoticeType): NoticeRule => NOTICE_TYPES[type];

/** Stands in a receiver's place for the Events that workers record: no receiver may have this name. */
export const KUBERNETES_EVENTS = 'kubernetes-events';

/** Ends the type of what tells that something is no longer so. */
export const ENDED = '.ended';
/** The type of what `drover doctor --send` has receivers told. */
export const TEST_TYPE = 'dev.drover.test';
