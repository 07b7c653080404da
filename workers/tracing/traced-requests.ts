import type { RequestListener } from '../../kubernetes/transport.ts';
import { spanUnderWay } from './tracing.ts';

/** Writes a span for each request to the API server that belongs to one, and tells the API server of it. */
export const tracedRequests: RequestListener = ({ method, path, isWatch }) => {
  const { tracer, traceparent } = spanUnderWay() ?? {};
  if (tracer === undefined) return { onEnd: () => {} };
  const [target = ''] = path.split('?');
  const span = tracer.begin({
    name: `${isWatch ? 'WATCH' : method} ${target}`,
    kind: 'client',
    parent: traceparent,
    attributes: { 'http.request.method': method, 'url.path': target },
  });
  return {
    headers: { traceparent: span.traceparent },
    onEnd: ({ status, isAborted }) => {
      if (status === undefined) span.end(new Error(isAborted ? 'aborted' : 'no answer'));
      else
        span.end(status < 400 ? undefined : new Error(`answered ${status}`), { 'http.response.status_code': status });
    },
  };
};

/** Tells two of each request. */
export const both =
  (a: RequestListener, b: RequestListener): RequestListener =>
  (request) => {
    const [first, second] = [a(request), b(request)];
    return {
      headers: { ...first.headers, ...second.headers },
      onEnd: (end) => {
        first.onEnd(end);
        second.onEnd(end);
      },
    };
  };
