import type { Act } from '../../../decisions/history/act.ts';
import { ACT_ENDS } from '../../../decisions/history/ends.ts';
import { operationResource } from '../../../decisions/operations/ref.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';
import { sentenceOf } from '../../cli/failure.ts';
import { actsOfOperation } from '../../operations/acts.ts';
import { workflowUrl } from '../../owners/progress.ts';
import type { Session } from '../../session/session.ts';
import type { LogEntry, OperationLog } from '../contract/requests.ts';
import { namesIn } from './details.ts';
import { Kept, soon } from './kept.ts';
import { paged, type Read } from './paged.ts';

/** For how long what was read of an operation is shown to all tabs, in milliseconds: it may be about 10,000 VMs. */
const LOG_MS = 5_000;

/** What an operation has done to each VM, as the command `operations logs` has it. */
export class OperationDetails {
  readonly #session: Session;
  readonly #logs = new Kept<Read<LogEntry>>(LOG_MS);

  constructor(session: Session) {
    this.#session = session;
  }

  async log(segments: readonly string[]): Promise<OperationLog> {
    const operation = await this.#read(segments);
    const read = await this.#logs.get(operation.metadata.uid, () => this.#logOf(operation));
    const id = operation.status?.workflowId;
    const temporalUrl = id === undefined ? null : await soon(workflowUrl(this.#session, id));
    return { ...paged(read, segments.slice(2)), temporalUrl };
  }

  async #read([namespace, name]: readonly string[]): Promise<StoredOperation> {
    namesIn([namespace ?? '', name ?? ''], 2);
    const key = { namespace: namespace === '-' ? undefined : namespace, name: name! };
    return (await this.#session.kube()).get<StoredOperation>(operationResource(key), key);
  }

  async #logOf(operation: StoredOperation): Promise<Read<LogEntry>> {
    const notes: string[] = [];
    const acts = await actsOfOperation(this.#session, operation, (note) => void notes.push(note)).catch(
      (error: unknown) => {
        notes.push(`what it did is not known: ${sentenceOf(error)}`);
        return [];
      },
    );
    return { lines: acts.flatMap(entriesOf).toReversed(), notes };
  }
}

const END_TONES = { well: 'good', bad: 'bad', skipped: 'warn', open: 'busy' } as const;

const entriesOf = ({ time, endedAt, action, vms, from, to, end, message }: Act): LogEntry[] =>
  vms.map((vm) => ({
    at: time,
    endedAt,
    vm,
    what: `${action}${to === null ? '' : ` ${from === null ? '' : `from ${from} `}to ${to}`}`,
    end,
    tone: END_TONES[ACT_ENDS[end].is],
    message: message === '' ? null : message,
  }));
