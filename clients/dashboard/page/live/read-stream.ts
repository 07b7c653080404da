import type { Message } from '../../contract/messages.ts';
import type { Fault } from '../../contract/requests.ts';
import { apiAddress } from './fetch-json.ts';

/**
 * How a stream has ended. `signed-out`: the server does not know this browser, or a proxy before it has sent the
 * browser to its own page; `why`: what the server says about it.
 */
export interface Ended {
  how: 'broken' | 'refused' | 'signed-out';
  message: string | null;
}

const TYPE = 'text/event-stream';
const BROKEN: Ended = { how: 'broken', message: null };

/**
 * Reads the stream. Resolves once it has ended. An `EventSource` would follow a proxy to the page on which users sign
 * in, and says nothing of a refusal.
 */
export async function readStream(onMessage: (message: Message) => void, signal: AbortSignal): Promise<Ended> {
  try {
    const headers = { accept: TYPE };
    const answer = await fetch(apiAddress('stream'), { redirect: 'manual', cache: 'no-store', headers, signal });
    if (!isStream(answer)) return await endOf(answer);
    let rest = '';
    for await (const text of textsOf(answer.body!)) {
      const events = `${rest}${text}`.split('\n\n');
      rest = events.pop()!;
      for (const event of events) readEvent(event, onMessage);
    }
  } catch {
    // The server has gone away, or this tab has ended the stream.
  }
  return BROKEN;
}

const isStream = ({ ok, headers }: Response): boolean => ok && headers.get('content-type')?.startsWith(TYPE) === true;

/** A proxy that does not know the user sends the browser elsewhere, answers 401, or answers with its own page. */
async function endOf(answer: Response): Promise<Ended> {
  const fault = (await answer.json().catch(() => null)) as Partial<Fault> | null;
  const isSignedOut = answer.status === 401 || answer.type === 'opaqueredirect' || answer.ok;
  return { how: isSignedOut ? 'signed-out' : 'refused', message: fault?.sentence ?? null };
}

async function* textsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    yield decoder.decode(part.value, { stream: true });
}

function readEvent(event: string, onMessage: (message: Message) => void): void {
  for (const line of event.split('\n'))
    if (line.startsWith('data: ')) onMessage(JSON.parse(line.slice('data: '.length)) as Message);
}
