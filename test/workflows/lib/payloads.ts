/** A signal as an attempt to heal a VM sends it to its pool. */
export const healEnd = {
  vm: 'web-1',
  uid: 'uid-of-web-1',
  attempt: 1,
  startedAt: '2026-01-01T00:00:00Z',
  outcome: { end: 'Removed', keptDisks: false, nextAt: '2026-01-01T00:00:30Z' },
  minVersions: { vms: '12' },
};
