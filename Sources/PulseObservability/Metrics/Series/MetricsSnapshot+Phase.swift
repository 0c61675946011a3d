// SPDX-License-Identifier: MIT

package import PulseCore

extension MetricsSnapshot {
    /// A phase of an exchange. The cases are in chronological order.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// Waiting for a connection slot.
        case queued
        /// Looking up the host's addresses.
        case nameResolution
        /// Opening the connection, without the TLS handshake.
        case connecting
        /// The TLS handshake.
        case securing
        /// Sending the request, up to its last byte.
        case sending
        /// From the request's last byte to the response's first.
        case waiting
        /// From the response's first byte to its last.
        case receiving
    }
}

/// One phase of an exchange and its time.
package struct PhaseTiming: Sendable, Hashable {
    /// The phase that was measured.
    package let phase: MetricsSnapshot.Phase
    /// Its start, in seconds from the exchange's start.
    package let start: TimeInterval
    /// Its duration in seconds.
    package let duration: TimeInterval
}

extension PulseResponse.Timings {
    /// The measured phases, each from the end of the one before. An end that is NaN or infinite, or lies before the
    /// previous one, is ignored.
    package var phases: [PhaseTiming] {
        var phases: [PhaseTiming] = []
        forEachPhase { phases.append(PhaseTiming(phase: $0, start: $1, duration: $2)) }
        return phases
    }

    /// Calls `body` with each phase, without allocating an array: this runs for every call.
    func forEachPhase(_ body: (MetricsSnapshot.Phase, _ start: TimeInterval, _ duration: TimeInterval) -> Void) {
        var last: TimeInterval = 0
        func end(_ phase: MetricsSnapshot.Phase, _ seconds: TimeInterval?) {
            guard let seconds, seconds.isFinite, seconds >= last else { return }
            body(phase, last, seconds - last)
            last = seconds
        }
        end(.queued, queued)
        end(.nameResolution, nameResolved)
        end(.connecting, connected)
        end(.securing, secured)
        end(.sending, requestSent)
        end(.waiting, firstByte)
        end(.receiving, lastByte)
    }
}
