// A page that follows its run: asks the server for what has been added, again and again, until the run has ended.
Report.live = (() => {
  const MOST_FAILURES = 3; // one after the other: then the server is gone

  /** `take` gets what has been added, `say` how it stands. `ask` and `wait` are fetch and setTimeout. */
  async function follow({ url, period, file }, take, say, ask = askServer, wait = waitFor) {
    let after = "";
    let failures = 0;
    say("running");
    for (;;) {
      let added = null;
      try {
        added = await ask(after ? `${url}?after=${after}` : url);
      } catch {
        failures += 1;
      }
      if (added) {
        failures = 0;
        after = added.after;
        take(added);
        if (added.ended) return say("ended", `The run has ended. The finished report is in ${file}.`);
      } else if (failures >= MOST_FAILURES) {
        const where = after ? `The report of what it did is in ${file}.` : "";
        return say("lost", `The server has closed: the run ended or was stopped. ${where}`.trim());
      }
      await wait(period);
    }
  }

  async function askServer(url) {
    const answer = await fetch(url, { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  }

  function waitFor(milliseconds) {
    return new Promise((resume) => setTimeout(resume, milliseconds));
  }

  return { follow };
})();
