import type { Dispatcher } from 'undici';

/** `cause`: what the last check of a request has thrown. */
export class NotSent extends Error {}

/** Checks when the request is written to its connection: it may have waited until that was open. */
export function checkingLast(dispatcher: Dispatcher, lastCheck: (() => void) | undefined): Dispatcher {
  if (lastCheck === undefined) return dispatcher;
  return dispatcher.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    const onRequestStart: typeof start = (...started) => {
      try {
        lastCheck();
      } catch (cause) {
        throw new NotSent('not sent', { cause });
      }
      start?.(...started);
    };
    return dispatch(options, Object.assign(handler, { onRequestStart }));
  });
}
