// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import PulseObservability
import SwiftUI

/// A line of a waterfall: its text above its bar.
struct WaterfallLineView: View {
    let line: WaterfallChart.Line

    var body: some View {
        VStack(alignment: .leading) {
            Text(verbatim: "\(line.timeText) \(line.text)").font(.caption)
            GeometryReader { geometry in
                ZStack(alignment: .topLeading) {
                    ForEach(line.segments) { segment in
                        Rectangle()
                            .foregroundColor(line.color(of: segment.phase))
                            // An instant is drawn as a hairline.
                            .frame(
                                width: max(1, geometry.size.width * (segment.bar.end - segment.bar.start)), height: 6
                            )
                            .offset(x: min(geometry.size.width * segment.bar.start, geometry.size.width - 1))
                    }
                }
            }
            .frame(height: 6)
        }
    }
}

extension WaterfallChart.Line {
    fileprivate func color(of phase: MetricsSnapshot.Phase?) -> Color {
        switch phase {
        case .queued: .gray
        case .nameResolution: .purple
        case .connecting: .orange
        case .securing: .pink
        case .sending: .blue
        case .waiting: .green
        case .receiving: .yellow
        case nil: kind == .mark ? .gray : .green
        }
    }
}
#endif
