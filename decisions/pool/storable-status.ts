import type { PoolStatus } from '../../api/pool/pool.ts';

/**
 * How long the JSON of a status may be. With the claims and the roles, which others write, the object stays below the
 * 1.5 MiB that etcd takes: a status that is not written records nothing, and holds back all that rests on it.
 */
const MAX_LENGTH = 512 * 1024;
const SHORT_LENGTH = 60;

const isShort = (status: PoolStatus): boolean => JSON.stringify(status).length <= MAX_LENGTH;
const shortened = <T extends { message?: string }>(all: readonly T[], length = SHORT_LENGTH): T[] =>
  all.map((one) => (one.message === undefined ? one : { ...one, message: one.message.slice(0, length) }));

/** What is left out of a status that is too long, one after the other: words and names, and nothing that holds back. */
const SHORTER: readonly ((status: PoolStatus) => PoolStatus)[] = [
  ({ conditions = [], ...status }) => ({ ...status, conditions: shortened(conditions, 1_024) }),
  ({ healing, ...status }) => {
    if (healing === undefined) return status;
    const { notReplaced = [], notListed = 0, ...rest } = healing;
    return { ...status, healing: { ...rest, notListed: notListed + notReplaced.length } };
  },
  ({ membership: { handledRequests = [] } = {}, ...status }) => ({
    ...status,
    membership: { handledRequests: handledRequests.map(({ vms: _vms, ...answer }) => answer) },
  }),
  ({ rollout, ...status }) =>
    rollout === undefined ? status : { ...status, rollout: { ...rollout, failures: shortened(rollout.failures) } },
];

/** Returns a status that the API server can store. */
export const storable = (status: PoolStatus): PoolStatus =>
  SHORTER.reduce((before, shorter) => (isShort(before) ? before : shorter(before)), status);
