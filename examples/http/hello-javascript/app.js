// Web handler in JavaScript as a WASI command: a component that exports wasi:cli/run.
//
// The request is in the variables of RFC 3875 and on stdin, the response goes to stdout.
//
//     npm install --no-save @bytecodealliance/componentize-js@0.23.0
//     npx componentize-js app.js --wit wit --world-name handler --out ../hello-javascript.wasm --disable http fetch-event
import { getEnvironment } from "wasi:cli/environment@0.2.0";
import { getStdin } from "wasi:cli/stdin@0.2.0";
import { getStdout } from "wasi:cli/stdout@0.2.0";

const CHUNK = 4096; // the most that one write accepts

function readAll(stream) {
  let total = 0;
  const chunks = [];
  for (;;) {
    try {
      const chunk = stream.blockingRead(65536n);
      chunks.push(chunk);
      total += chunk.length;
    } catch (error) {
      if (error.payload?.tag === "closed") break; // the end
      throw error;
    }
  }
  const body = new Uint8Array(total);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

function write(stream, text) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += CHUNK) {
    stream.blockingWriteAndFlush(bytes.subarray(at, at + CHUNK));
  }
}

export const run = {
  run() {
    const variables = Object.fromEntries(getEnvironment());
    const name = new URLSearchParams(variables.QUERY_STRING).get("name") ?? "world";
    const answer = { greeting: "hello", name };
    if (variables.REQUEST_METHOD === "POST") answer.bytes = readAll(getStdin()).length;
    write(getStdout(), `Content-Type: application/json\n\n${JSON.stringify(answer)}\n`);
  },
};
