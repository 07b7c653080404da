/** What users may ask of VMs of any owner. */
export type PowerAction = 'Start' | 'Stop' | 'Restart' | 'Migrate' | 'Patch';

/** How each action is named while it lasts, and once it is done. */
export const ACTION_LABELS = {
  Start: { verb: 'start', doing: 'Starting', done: 'Started' },
  Stop: { verb: 'stop', doing: 'Stopping', done: 'Stopped' },
  Restart: { verb: 'restart', doing: 'Restarting', done: 'Restarted' },
  Migrate: { verb: 'migrate', doing: 'Migrating', done: 'Migrated' },
  Patch: { verb: 'patch', doing: 'Patching', done: 'Patched' },
} as const satisfies Record<PowerAction, { verb: string; doing: string; done: string }>;

export type PowerDoing = (typeof ACTION_LABELS)[PowerAction]['doing'];
export type PowerDone = (typeof ACTION_LABELS)[PowerAction]['done'];
