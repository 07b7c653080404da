import type { Fault } from '../../contract/requests.ts';

/** What the server says to a question. `status`: null if it does not answer. */
export type Answer<T> = { state: 'here'; data: T } | { state: 'failed'; sentence: string; status: number | null };

/** The address of this resource of the API. It is beside the page's own files: a proxy may serve both below a path. */
export const apiAddress = (path: string): URL => new URL(`../../api/${path}`, import.meta.url);

/** Asks the server. A proxy sends a browser that it does not know to its own page, which is not followed. */
export async function fetchJson<T>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
  try {
    const answer = await fetch(apiAddress(path), { ...init, redirect: 'manual' });
    if (answer.type === 'opaqueredirect') return { state: 'failed', sentence: 'You are signed out.', status: 401 };
    const body: unknown = await answer.json();
    if (answer.ok) return { state: 'here', data: body as T };
    return { state: 'failed', sentence: (body as Fault).sentence, status: answer.status };
  } catch {
    return { state: 'failed', sentence: 'The server does not answer.', status: null };
  }
}
