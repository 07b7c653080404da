import type { Identity } from '../../../api/owner-references.ts';
import {
  inFlightView,
  migrationView,
  type VirtualMachineInstanceMigration,
} from '../../../decisions/from-object/migration.ts';
import { evacuationOf, type Evacuation } from '../../../decisions/views/evacuation.ts';
import type { MigrationInFlight, MigrationView } from '../../../decisions/views/migration.ts';
import type { VmiView } from '../../../decisions/views/vmi.ts';
import { ListWatch, type ListWatchOptions } from '../../../kubernetes/list-watch.ts';
import { ObjectIndex } from './object-index.ts';

interface Seen {
  /** The migration, if drover has made it to move a VM off its node. */
  own: MigrationView | null;
  inFlight: MigrationInFlight | null;
}

type Options = Omit<ListWatchOptions<VirtualMachineInstanceMigration, Seen | null>, 'onChange' | 'view'> & {
  onOwnChange: (before: MigrationView | undefined, after: MigrationView | undefined) => void;
  /** Called when the migration of a VMI that has not ended, by `namespace/name`, appears, ends or progresses. */
  onInFlight: (vmi: string, before: MigrationInFlight | null, after: MigrationInFlight | null) => void;
};

/** A cache of all migrations, of any client. Of migrations that have ended, it keeps only drover's. */
export class MigrationCache extends ListWatch<VirtualMachineInstanceMigration, Seen | null> {
  readonly #own: ObjectIndex<MigrationView>;
  readonly #inFlight: ObjectIndex<MigrationInFlight>;

  constructor({ onOwnChange, onInFlight, ...options }: Options) {
    const own = new ObjectIndex<MigrationView>(({ namespace, vmiUid }) => [`${namespace}/${vmiUid}`]);
    const inFlight = new ObjectIndex<MigrationInFlight>(({ namespace, vmiName }) => [`${namespace}/${vmiName}`]);
    super({
      ...options,
      view: (object) => {
        const seen = { own: migrationView(object), inFlight: inFlightView(object) };
        return seen.own === null && seen.inFlight === null ? null : seen;
      },
      onChange: (_key, before, after) => {
        const [former, latter] = [before?.own ?? undefined, after?.own ?? undefined];
        own.change(former, latter);
        const [wasInFlight, isInFlight] = [before?.inFlight ?? undefined, after?.inFlight ?? undefined];
        inFlight.change(wasInFlight, isInFlight);
        if (former !== undefined || latter !== undefined) onOwnChange(former, latter);
        const one = isInFlight ?? wasInFlight;
        if (one !== undefined && wasInFlight?.phase !== isInFlight?.phase)
          onInFlight(`${one.namespace}/${one.vmiName}`, wasInFlight ?? null, isInFlight ?? null);
      },
    });
    this.#own = own;
    this.#inFlight = inFlight;
  }

  /** Returns what drover's migrations of this VMI say; null if there are none. */
  evacuationOf({ namespace, uid }: Identity): Evacuation | null {
    return evacuationOf(this.#own.of(`${namespace}/${uid}`));
  }

  /** Fills in what is known of a VMI from its migrations alone. */
  withMigrations(vmi: VmiView): VmiView {
    const evacuation = this.evacuationOf(vmi);
    const [migration = null] = this.#inFlight.of(`${vmi.namespace}/${vmi.name}`);
    return evacuation === null && migration === null ? vmi : { ...vmi, evacuation, migration };
  }
}
