"""Log lines of scheduling attempts, with the texts and keys of kube-scheduler."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kubewasp.framework.messages import NO_NODES
from kubewasp.server.logs import verbosity

if TYPE_CHECKING:
    from kubewasp.scheduler.attempt import Attempt

_LEVEL: Final = verbosity(2)

logger = logging.getLogger(__name__)


class PodLog:
    """Logger of attempts. Implements `AttemptListener`; waiting and binding pods are logged at their end."""

    def attempted(self, attempt: Attempt) -> None:
        if attempt.is_waiting or attempt.is_binding:
            return
        pod = attempt.pod.key
        if attempt.is_error:
            logger.error("Error scheduling pod; retrying", extra={"pod": pod, "err": attempt.message})
        elif not logger.isEnabledFor(_LEVEL):
            return
        elif attempt.node:
            logger.log(_LEVEL, "Successfully bound pod to node", extra={"pod": pod, "node": attempt.node})
        elif attempt.message == NO_NODES:
            text = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
            logger.log(_LEVEL, text, extra={"pod": pod})
        else:
            logger.log(_LEVEL, "Unable to schedule pod; no fit; waiting", extra={"pod": pod, "err": attempt.message})
