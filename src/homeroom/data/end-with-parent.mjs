// Preloaded into the model server. Ends it when its standard input does: the pipe closes
// when the parent dies, even of SIGKILL, so that no server is left behind. And keeps it
// quiet once it listens: nobody reads its output then, and a full pipe would block it.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.stdin.on('error', () => process.exit(0));

const log = console.log;
console.log = (...parts) => {
  log(...parts);
  if (parts.join(' ').includes('listening on')) {
    for (const name of ['log', 'info', 'warn', 'error']) console[name] = () => {};
  }
};
